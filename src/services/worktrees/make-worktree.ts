// Makes worktrees: from a person's tree as it is, from a commit, again with the changes that were in it, or from a patch of
// another server. What the setup command leaves behind is never among the changes
// (docs/decisions/244-a-worktree-begins-with-the-callers-files.md).
import { existsSync } from "node:fs";
import { copyFile, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { writeWholeWith } from "../platform/private-files.ts";
import { type CommandEnd, runShellCommand } from "../platform/shell-command.ts";
import type { WorktreePaths } from "./folders.ts";
import { has, patchedTree, repositoriesIn, requireCommit } from "./git/commit.ts";
import { withoutLocations } from "./git/environment.ts";
import type { WorkingTree } from "./git/git.ts";
import { hiddenByTask, leftOutOf } from "./git/left-out.ts";
import { place } from "./git/placing.ts";
import { forgetPlaced } from "./git/placing-journal.ts";
import { entriesBetween } from "./git/placing-plan.ts";
import { takeSnapshot, takeTaskSnapshot } from "./git/snapshot.ts";
import {
  addWorktree,
  findTree,
  keepBase,
  removeWorktree,
  treeAt,
  withObjects,
  withTemporaryFolder,
} from "./git/working-tree.ts";
import { treesOf } from "./read-changes.ts";
import { readRecord, type WorktreeRecord, writeRecord } from "./record.ts";

/** Milliseconds that the command may take: a large project's packages take minutes. */
const TIME_LIMIT_MS = 600_000;

/** Characters of its output that an error carries: its end says why it failed. */
const OUTPUT_CHARS = 500;

/** How a worktree is prepared. */
interface Setup {
  /** A shell command from the configuration. */
  command: string;
  /** The worktree. */
  directory: string;
  /** The top of the tree that it was made from. */
  source: string;
  /** Ends the command. */
  signal: AbortSignal;
}

/** Why a worktree is not prepared; undefined where it is. */
const problemOf = ({ end, exit }: CommandEnd, { signal }: Setup): string | undefined => {
  if (signal.aborted) return "was aborted";
  if (end === "timedOut") return `took longer than ${TIME_LIMIT_MS / 60_000} minutes`;
  if (end === "notRun") return "could not be started";
  return exit === 0 ? undefined : `ended with ${exit}`;
};

/**
 * Prepares a worktree by a command, with its working directory in the worktree.
 * @throws Error with the end of its output when it fails
 */
const runSetup = async (setup: Setup): Promise<void> => {
  const { command, directory, source, signal } = setup;
  const env = { ...withoutLocations(), TASKCHART_SOURCE: source };
  const ended = await runShellCommand({ command, directory, timeoutMs: TIME_LIMIT_MS, env, signal });
  const problem = problemOf(ended, setup);
  if (problem === undefined) return;
  const words = ended.output.trim().slice(-OUTPUT_CHARS);
  throw new Error(`its setup command ${problem}${words === "" ? "" : `: ${words}`}`);
};

/** What OpenCode keeps in a project's `.opencode` beside the packages that it installs there. Git ignores all of it. */
const LISTS = [".gitignore", "package.json", "package-lock.json", "bun.lock"];

/**
 * Shares the packages that OpenCode has installed in a project's `.opencode` with a worktree. Without them it would install
 * them there when it opens the worktree, and wait: for seconds, and without a network for as long as it tries (measured).
 * @returns true where there was something to share
 */
const sharePackages = async (source: string, tree: string): Promise<boolean> => {
  const [from, to] = [join(source, ".opencode"), join(tree, ".opencode")];
  const packages = join(from, "node_modules");
  if (!existsSync(to) || !existsSync(packages) || existsSync(join(to, "node_modules"))) return false;
  await symlink(packages, join(to, "node_modules"), "dir");
  for (const name of LISTS) {
    if (existsSync(join(from, name)) && !existsSync(join(to, name))) await copyFile(join(from, name), join(to, name));
  }
  return true;
};

/** What a worktree is made of. */
export interface WorktreePlan {
  paths: WorktreePaths;
  /** The directory of a working tree that it is made for. */
  directory: string;
  project: string;
  /** What it is made from; undefined: the tree as it is. */
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
 * Makes a worktree from a tree as it is. The record is written first, so that a crash leaves nothing that nobody knows,
 * and says last that there is a worktree: what is half made is taken for none.
 * @param fill puts into it what it had before, and returns what is to be known of it
 * @throws Error in git's words, of the setup command, or of `fill`; nothing is left of it then but the record
 */
export const makeWorktree = async (
  plan: WorktreePlan,
  fill: (made: WorktreeRecord) => Promise<WorktreeRecord> = async (made) => made,
): Promise<WorktreeRecord> => {
  const { paths, directory, project, taskId, setup, now, signal } = plan;
  const from = await treeAt(directory);
  const { top: source } = from;
  const record: WorktreeRecord = { project, source, subfolder: relative(source, directory), createdAt: now };
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
    await mkdir(join(paths.tree, record.subfolder), { recursive: true });
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

/** Applies a patch to a worktree at the commit that it was made of. @throws GitError where it does not fit */
const applyPatch = async (paths: WorktreePaths, record: WorktreeRecord, patch: string): Promise<void> => {
  const { own: tree, source: filtersIn } = await treesOf(paths, record);
  await withTemporaryFolder((folder) =>
    withObjects(tree, async (objects) => {
      const index = join(folder, "index");
      const { commit } = await takeSnapshot(tree, index);
      const to = await patchedTree(objects, commit, patch);
      const entries = await entriesBetween(objects, commit, to);
      await place({ tree, entries, to, index, files: [], journal: paths, filtersIn });
      forgetPlaced(paths);
    }),
  );
};

/**
 * Makes a worktree again, with the changes that were in it when it was removed.
 * @throws Error where the commit cannot be had, or the patch does not fit it; nothing is left of the worktree then
 */
export const makeWithChanges = async (plan: WorktreePlan): Promise<WorktreeRecord> => {
  const { paths } = plan;
  return makeWorktree(plan, async (made) => {
    await applyPatch(paths, made, paths.patch);
    return made;
  });
};

/**
 * Makes a worktree of what an agent changed on another server, where `patch` says what that was. Does nothing where that
 * was done before.
 * @param before the record of the worktree that was made of its changes in the run before; undefined where there is none
 * @param whileLocked does what no other process may do to the worktree at the same time
 * @throws Error where the commit cannot be had, or the patch does not fit it; the patch is kept then in `paths.received`, if the
 * disk takes it
 */
export const receiveChanges = async (
  plan: Omit<WorktreePlan, "setup"> & { commit: string },
  patch: Uint8Array,
  before: WorktreeRecord | undefined,
  whileLocked: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<WorktreeRecord> => {
  const { paths } = plan;
  const known = readRecord(paths);
  if (known?.base !== undefined && existsSync(paths.patch)) return known;
  await keepPatch(paths, patch);
  return whileLocked(async () => {
    if (known) await removeWorktree(await findTree(known.source), paths.tree);
    return makeWorktree({ ...plan, setup: undefined }, async (made) => {
      await applyPatch(paths, made, paths.received);
      const record = await countFromApplied(paths, made, before);
      await rename(paths.received, paths.patch);
      return record;
    });
  });
};

/**
 * Makes the worktree's changes begin after what a person has applied already: that is in the person's tree, and would be
 * merged with itself.
 */
const countFromApplied = async (
  paths: WorktreePaths,
  made: WorktreeRecord,
  before: WorktreeRecord | undefined,
): Promise<WorktreeRecord> => {
  const base = before?.gone?.end ?? before?.base;
  // Git removes commits that nothing leads to, after weeks.
  const { own } = await treesOf(paths, made);
  if (base === undefined || !(await has(own, base))) return made;
  await keepBase(own, base);
  return { ...made, base };
};

const keepPatch = async ({ folder, received }: WorktreePaths, patch: Uint8Array): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeWholeWith(received, (draft) => writeFile(draft, patch, { mode: 0o600 }));
};
