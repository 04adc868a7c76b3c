// ADR-244, ADR-246 in docs/decisions.md
import { mkdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { WorktreePaths } from "./folders.ts";
import { repositoriesIn, requireCommit } from "./git/commit.ts";
import type { WorkingTree } from "./git/git.ts";
import { hiddenByTask, leftOutOf } from "./git/left-out.ts";
import { takeSnapshot, takeTaskSnapshot } from "./git/snapshot.ts";
import { findTree, treeAt } from "./git/working-tree.ts";
import { addWorktree, keepBase, removeWorktree } from "./git/worktree.ts";
import { type WorktreeRecord, writeRecord } from "./record.ts";
import { runSetup } from "./setup.ts";
import { sharePackages } from "./share-packages.ts";

/** What a worktree is made of. */
export interface WorktreePlan {
  paths: WorktreePaths;
  /** The directory that it is to stand for, in a working tree. */
  directory: string;
  home: string;
  /** What it is made from; undefined: the tree as it stands. */
  commit?: string | undefined;
  /** The record of a worktree that is made again, which stays until all is done; undefined for a new one. */
  before?: WorktreeRecord | undefined;
  /** The task that it is made for, if there is one already. */
  taskId: string | undefined;
  /** Prepares it. Undefined: nothing does. */
  setup: string | undefined;
  /** Epoch milliseconds. */
  now: number;
  signal: AbortSignal;
}

/** Paths that a refusal names; a tree may have hundreds of repositories in it. */
const NAMED = 3;

/** @throws Error when the tree has repositories in it: the agent would find their folders empty */
const refuseRepositories = (repositories: readonly string[]): void => {
  if (repositories.length === 0) return;
  const more = repositories.length > NAMED ? `, and ${repositories.length - NAMED} more` : "";
  const names = repositories.slice(0, NAMED).join(", ") + more;
  throw new Error(`there are submodules or other repositories in it (${names}), of whose files a worktree has none`);
};

/**
 * Makes a worktree from a tree as it stands. The record is written first, so that a crash leaves nothing that nobody knows,
 * and says last that there is a worktree: what is half made is taken for none.
 * @param fill puts into it what it had before, and returns what is to be known of it
 * @throws Error in git's words, of the setup command, or of `fill`; nothing is left of it then but the record
 */
export const makeWorktree = async (
  plan: WorktreePlan,
  fill: (made: WorktreeRecord) => Promise<WorktreeRecord> = async (made) => made,
): Promise<WorktreeRecord> => {
  const { paths, directory, home, taskId, setup, now, signal } = plan;
  const from = await treeAt(directory);
  const { top: source } = from;
  const record: WorktreeRecord = { home, source, below: relative(source, directory), createdAt: now };
  if (taskId !== undefined) record.taskId = taskId;
  if (plan.commit !== undefined) record.commit = plan.commit;
  await mkdir(paths.folder, { recursive: true, mode: 0o700 });
  writeRecord(paths, plan.before ?? record);
  const { commit, repositories } =
    plan.commit === undefined ? await takeSnapshot(from) : await atCommit(from, plan.commit);
  refuseRepositories(repositories);
  const tree = await addWorktree(from, paths.tree, commit);
  try {
    // The caller's directory may have nothing but what git ignores.
    await mkdir(join(paths.tree, record.below), { recursive: true });
    const isShared = await sharePackages(source, paths.tree);
    if (setup !== undefined) await runSetup({ command: setup, directory: paths.tree, source, signal });
    const base = isShared || setup !== undefined ? await prepared(tree, from) : { base: commit };
    const made = await fill({ ...record, ...base });
    writeRecord(paths, made);
    return made;
  } catch (error) {
    await removeWorktree(from, paths.tree);
    throw error;
  }
};

/** A commit as a snapshot. */
const atCommit = async (source: WorkingTree, commit: string) => {
  await requireCommit(source, commit);
  return { commit, repositories: await repositoriesIn(source, commit) };
};

/** What was added to the snapshot belongs to the beginning. */
const prepared = async (tree: WorkingTree, source: WorkingTree): Promise<Pick<WorktreeRecord, "base" | "leftOut">> => {
  const snapshot = await takeTaskSnapshot(tree, source);
  const { commit: base } = snapshot;
  await keepBase(tree, base);
  const leftOut = leftOutOf(snapshot, await hiddenByTask(tree, base, [])).map(({ path }) => path);
  return leftOut.length === 0 ? { base } : { base, leftOut };
};

/** Removes a worktree that is there, and notes why. What is known of it stays. */
export const dropWorktree = async (
  paths: WorktreePaths,
  record: WorktreeRecord,
  gone: NonNullable<WorktreeRecord["gone"]>,
): Promise<void> => {
  writeRecord(paths, { ...record, gone });
  await removeWorktree(await findTree(record.source), paths.tree);
};
