import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { Task } from "../../task.ts";

/** The files of one worktree, below the plugin's data folder. */
export interface WorktreePaths {
  /** The folder that has all of them. */
  folder: string;
  /** The worktree itself. */
  tree: string;
  /** What is known of it, see `WorktreeRecord`. */
  record: string;
  /** What its task changed, see `WorktreeChanges`. */
  changes: string;
  /** The same as a patch that `git apply` takes. */
  patch: string;
  /** The same of a task that worked on another server, until there is a worktree of it here. */
  received: string;
  /** What is being applied to a person's tree, see `git/placing.ts`. It is there while that is under way, and after a crash. */
  applying: string;
  /** The same once all of it is applied, until the worktree goes. */
  applied: string;
}

/** The folder of all worktrees, in the plugin's data folder. */
export const worktreesFolder = (data: string): string => join(data, "worktrees");

/** Returns where the files of a worktree are. */
export const pathsOf = (root: string, id: string): WorktreePaths => {
  const folder = join(root, id);
  return {
    folder,
    tree: join(folder, "tree"),
    record: join(folder, "worktree.json"),
    changes: join(folder, "changes.json"),
    patch: join(folder, "changes.patch"),
    received: join(folder, "received.patch"),
    applying: join(folder, "applying.json"),
    applied: join(folder, "applied.json"),
  };
};

/** Returns the id of the worktree that was made for a task; undefined where it has none, or shares that of another one. */
export const ownWorktreeOf = ({ worktree }: Pick<Task, "worktree">): string | undefined =>
  worktree?.isShared === false ? worktree.id : undefined;

/** The ids of all worktrees of which something is known. */
export const idsIn = (root: string): string[] => (existsSync(root) ? readdirSync(root) : []);

/** True where changes are being applied, or a process has ended before all was in place. */
export const isHalfApplied = ({ applying }: WorktreePaths): boolean => existsSync(applying);

/** True where changes are being applied, or a process has ended before it was done with that. */
export const isCutOff = (paths: WorktreePaths): boolean => isHalfApplied(paths) || existsSync(paths.applied);

/** True where the worktree's folder is there. */
export const isThere = ({ tree }: WorktreePaths): boolean => existsSync(tree);

/** Returns the id of the worktree that a directory lies in; undefined where it lies in none. */
export const worktreeIdOf = (root: string, directory: string): string | undefined => {
  if (!existsSync(root)) return undefined;
  const [id, tree] = relative(realpathSync(root), directory).split(sep);
  return id && id !== ".." && tree === "tree" ? id : undefined;
};

/**
 * Returns the project of a directory that lies in a worktree: the directory whose engine supervises the worktree's tasks.
 * Undefined for any other directory. Reads as little as possible, for OpenCode waits.
 */
export const projectOf = (root: string, directory: string): string | undefined => {
  const id = worktreeIdOf(root, directory);
  if (id === undefined) return undefined;
  const { record } = pathsOf(root, id);
  if (!existsSync(record)) return undefined;
  const { project }: { project?: unknown } = JSON.parse(readFileSync(record, "utf8"));
  return typeof project === "string" ? project : undefined;
};
