// Makes worktrees: from a person's tree as it is, from a commit, again with the changes that were in it, or from a patch of
// another server. What the setup command leaves behind is never among the changes
// (docs/decisions/244-a-worktree-begins-with-the-callers-files.md).
import { existsSync } from "node:fs";
import { copyFile, mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Worktree } from "../../task.ts";
import { writeWholeWith } from "../platform/private-files.ts";
import { runShellCommand } from "../platform/shell-command.ts";
import type { TaskInWorktree } from "./change-counts.ts";
import { pathsOf, type WorktreePaths } from "./folders.ts";
import { applyPatch } from "./git/apply-changes.ts";
import { holdsCommit, repositoriesIn, requireCommit } from "./git/commit.ts";
import { firstOf, type WorkingTree, withoutLocations } from "./git/git.ts";
import { takeSnapshot, takeTaskSnapshot } from "./git/snapshot.ts";
import { addWorktree, findTree, keepBase, removeWorktree, treeAt } from "./git/working-tree.ts";
import { whileLocked } from "./lock.ts";
import { leftOutIn } from "./read-changes.ts";
import { isUndecided, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import { dropWorktree, type WorktreesContext } from "./remove-worktree.ts";

/** Milliseconds that the setup command may take: a large project's packages take minutes. */
const TIME_LIMIT_MS = 600_000;

/** Characters of its output that an error carries: its end says why it failed. */
const OUTPUT_CHARS = 500;

/**
 * Prepares a worktree by the shell command of the configuration, with its working directory in the worktree.
 * @param source the top of the tree that the worktree was made from
 * @throws Error with the end of its output when it fails
 */
const runSetup = async (command: string, directory: string, source: string, signal: AbortSignal): Promise<void> => {
  const env = { ...withoutLocations(), TASKCHART_SOURCE: source };
  const { end, exit, output } = await runShellCommand({ command, directory, timeoutMs: TIME_LIMIT_MS, env, signal });
  if (exit === 0 && !signal.aborted) return;
  const problems = {
    timedOut: `took longer than ${TIME_LIMIT_MS / 60_000} minutes`,
    notRun: "could not be started",
    exited: `ended with ${exit}`,
  };
  const problem = signal.aborted ? "was aborted" : problems[end];
  const words = output.trim().slice(-OUTPUT_CHARS);
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
interface WorktreePlan {
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

/** @throws Error when the tree has repositories in it: the agent would find their folders empty */
const refuseRepositories = (repositories: readonly string[]): void => {
  if (repositories.length === 0) return;
  const names = firstOf(repositories);
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
  fill: (made: WorktreeRecord, own: WorkingTree, from: WorkingTree) => Promise<WorktreeRecord> = async (made) => made,
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
    if (setup !== undefined) await runSetup(setup, paths.tree, source, signal);
    const base = isShared || setup !== undefined ? await prepared(tree, from) : { base: commit };
    const made = await fill({ ...record, ...base }, tree, from);
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
  const leftOut = (await leftOutIn(tree, snapshot, base, [])).map(({ path }) => path);
  return leftOut.length === 0 ? { base } : { base, leftOut };
};

/** True where there is still that commit in the repository that a directory belongs to. */
const hasCommit = async (directory: string, commit: string | undefined): Promise<boolean> => {
  const tree = await treeAt(directory).catch(() => undefined);
  return tree !== undefined && commit !== undefined && holdsCommit(tree, commit);
};

/**
 * Makes a worktree that is gone, or was never whole, again: with the changes that were in it, where nobody has decided about
 * them. For `whileLocked`.
 * @throws Error where it cannot be made, or the patch does not fit it; nothing is left of the worktree then
 */
export const makeAgain = async (
  paths: WorktreePaths,
  record: WorktreeRecord,
  { taskId, setup, now, signal }: Pick<WorktreePlan, "taskId" | "setup" | "now" | "signal">,
): Promise<WorktreeRecord> => {
  const { source, subfolder, project, base } = record;
  // Nobody counts what is half made, so its patch stays as it is.
  const gone = record.gone ?? ({ why: "expired", at: now } as const);
  const before = { ...record, gone };
  // A process may have died while it made or removed the worktree, of which git may know though its folder is gone.
  await dropWorktree(paths, before, gone);
  const isSent = record.gone?.why === "sent";
  const hasChanges = isSent || (isUndecided(record) && existsSync(paths.patch));
  const isFromBase = hasChanges && !isSent && (await hasCommit(source, base));
  const commit = isFromBase ? base : record.commit;
  const plan = { paths, directory: join(source, subfolder), project, commit, before, taskId, setup, now, signal };
  try {
    return await makeWorktree(plan, async (made, own, from) => {
      if (hasChanges) await applyPatch(own, paths.patch, { journal: paths, filtersIn: from });
      return made;
    });
  } catch (error) {
    writeRecord(paths, record);
    throw error;
  }
};

/** What a task changed on another server. */
export interface ReceivedChanges {
  /** Names the worktree: the same for the same changes. */
  id: string;
  task: TaskInWorktree;
  /** The directory that it is to stand for. */
  directory: string;
  /** What the patch is to be applied to. */
  commit: string;
  patch: Uint8Array;
  /** The worktree that was made of its changes in the run before; undefined where there is none. */
  before: Worktree | undefined;
}

/**
 * Makes a worktree of what an agent changed on another server, where that was not done before.
 * @throws Error where the commit cannot be had, or the patch does not fit it; the patch is kept then in `paths.received`, if the
 * disk takes it
 */
export const makeOfReceived = async (
  context: Pick<WorktreesContext, "root" | "clock" | "log">,
  { id, task, directory, commit, patch, before }: ReceivedChanges,
): Promise<WorktreeRecord> => {
  const { root, clock } = context;
  const paths = pathsOf(root, id);
  const known = readRecord(paths);
  if (known?.base !== undefined && existsSync(paths.patch)) return known;
  await mkdir(paths.folder, { recursive: true, mode: 0o700 });
  await writeWholeWith(paths.received, (draft) => writeFile(draft, patch, { mode: 0o600 }));
  return whileLocked(context, id, async () => {
    if (known) await removeWorktree(await findTree(known.source), paths.tree);
    const plan = {
      ...{ paths, directory, project: directory, commit, taskId: task.sessionID, setup: undefined, now: clock.now() },
      signal: new AbortController().signal,
    };
    return makeWorktree(plan, async (made, own, from) => {
      await applyPatch(own, paths.received, { journal: paths, filtersIn: from });
      const record = await countFromApplied(own, made, before && readRecord(pathsOf(root, before.id)));
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
  own: WorkingTree,
  made: WorktreeRecord,
  before: WorktreeRecord | undefined,
): Promise<WorktreeRecord> => {
  const base = before?.gone?.end ?? before?.base;
  // Git removes commits that nothing leads to, after weeks.
  if (base === undefined || !(await holdsCommit(own, base))) return made;
  await keepBase(own, base);
  return { ...made, base };
};
