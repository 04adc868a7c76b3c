// ADR-245, ADR-250 in docs/decisions.md
import { existsSync } from "node:fs";
import { type ChangedFile, hasEnded, type Task } from "../../task.ts";
import { toSingleLine } from "../platform/plain-text.ts";
import { isThere, pathsOf, type WorktreePaths } from "./folders.ts";
import { applyChanges, type Conflict } from "./git/apply.ts";
import { changesBetween, writePatch } from "./git/changes.ts";
import { GitError } from "./git/git.ts";
import { takeSnapshot } from "./git/snapshot.ts";
import { dropWorktree } from "./make-worktree.ts";
import {
  isInUse,
  isUndecided,
  readChanges as readCountedChanges,
  readRecord,
  type WorktreeRecord,
  writeRecord,
} from "./record.ts";

/** A task, as far as what it left in its worktree is concerned. */
export type TaskWithWorktree = Pick<
  Task,
  "sessionID" | "description" | "directory" | "parentTaskId" | "worktree" | "status"
>;

/** The worktree of a task that has ended. */
export interface LeftWorktree {
  task: TaskWithWorktree;
  paths: WorktreePaths;
  record: WorktreeRecord;
  /** The commit that it began with. */
  base: string;
}

/** Why nothing was done with what a task left, in a sentence for a person. */
export class NotDone extends Error {
  override name = "NotDone";
  /** The files that both sides changed, each in its own way; none where something else is the reason. */
  readonly conflicts: readonly Conflict[];

  constructor(message: string, conflicts: readonly Conflict[] = []) {
    super(message);
    this.conflicts = conflicts;
  }
}

const GONE = {
  clean: "nothing was changed in it",
  applied: "its changes were applied",
  discarded: "its changes were discarded",
  expired: "it was kept for the time that the option worktree.keep gives it",
  sent: "its changes are with the server that launched it",
} as const;

/** Names a task in a sentence: by its id and what it is about. */
const named = ({ sessionID, description }: TaskWithWorktree): string =>
  `${toSingleLine(sessionID)} "${toSingleLine(description)}"`;

/**
 * Finds the worktree of a task that has ended.
 * @param root the folder of all worktrees
 * @param dateTime writes epoch milliseconds for the reader of the reason
 * @param use to discard what it changed, its patch is enough
 * @throws NotDone when the task has none of its own or has not ended, or the worktree is gone
 */
export const findLeftWorktree = (
  root: string,
  task: TaskWithWorktree,
  dateTime: (at: number) => string,
  use: "apply" | "discard" = "apply",
): LeftWorktree => {
  const { worktree, parentTaskId } = task;
  if (!worktree) throw new NotDone(`Task ${named(task)} worked in ${toSingleLine(task.directory)} itself.`);
  if (worktree.isShared) {
    const above = parentTaskId === undefined ? "another task" : `task ${toSingleLine(parentTaskId)}`;
    throw new NotDone(`Task ${named(task)} worked in the worktree of ${above}: name that one.`);
  }
  if (!hasEnded(task)) throw new NotDone(`Task ${named(task)} still runs. Wait for its end, or cancel it.`);
  const paths = pathsOf(root, worktree.id);
  const record = readRecord(paths);
  const isPatchEnough = use === "discard" && record !== undefined && isUndecided(record) && existsSync(paths.patch);
  if (record?.gone && !isPatchEnough) {
    const { why, at } = record.gone;
    const patch =
      why === "discarded" || why === "expired" || why === "sent" ? ` Its patch is still in ${paths.patch}.` : "";
    throw new NotDone(`Task ${named(task)} has no worktree any more, since ${dateTime(at)}: ${GONE[why]}.${patch}`);
  }
  if (record?.base === undefined || !(isThere(paths) || isPatchEnough))
    throw new NotDone(`The worktree of task ${named(task)} is gone: there is no ${paths.tree}.`);
  return { task, paths, record, base: record.base };
};

/** Returns what git answered. @throws NotDone with git's own words after `what` when git failed */
export const askGit = async <T>(what: string, asked: Promise<T>): Promise<T> => {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GitError) throw new NotDone(`${what}: ${toSingleLine(error.message)}.`);
    throw error;
  }
};

const readChanges = async ({ paths, base }: LeftWorktree): Promise<ChangedFile[]> => {
  if (!isThere(paths)) return readCountedChanges(paths)?.files ?? [];
  const { commit } = await takeSnapshot(paths.tree);
  await writePatch(paths.tree, base, commit, paths.patch);
  return changesBetween(paths.tree, base, commit);
};

/** Reads what is changed in a worktree, and writes its patch anew. @throws NotDone */
export const readLeftChanges = (left: LeftWorktree): Promise<ChangedFile[]> =>
  askGit(`What task ${named(left.task)} changed cannot be read`, readChanges(left));

/** What the use of a worktree depends on. */
export interface WorktreeUse {
  /** True while a run of a task that works in it is under way: the task's own, or one that it launched. */
  isAtWork(): Promise<boolean>;
  /** Epoch milliseconds. */
  now(): number;
}

/** What was done with changes. */
export interface Settled {
  files: ChangedFile[];
  /** False where an agent had begun to work in the worktree again: it keeps that. */
  isRemoved: boolean;
}

/** What was done with changes, and the commit of all that was in the worktree where they were applied. */
interface Used {
  files: ChangedFile[];
  end?: string;
}

/** Does `work` while no run can begin in the worktree, and removes it then. @throws NotDone, and what `work` throws */
const useAndRemove = async (
  { task, paths, base }: LeftWorktree,
  { isAtWork, now }: WorktreeUse,
  why: "applied" | "discarded",
  work: () => Promise<Used>,
): Promise<Settled> => {
  // As it is now: somebody else may have used it since it was found.
  const record = readRecord(paths);
  if (isInUse(record, now()))
    throw new NotDone(`The changes of task ${named(task)} are being applied or discarded already.`);
  if (!record || !isUndecided(record) || record.base !== base)
    throw new NotDone(`The worktree of task ${named(task)} has changed in the meantime. Look again.`);
  writeRecord(paths, { ...record, inUse: { pid: process.pid, at: now() } });
  try {
    if (await isAtWork())
      throw new NotDone(`An agent works in the worktree of task ${named(task)}. Wait for its end, or cancel it.`);
    const { files, end } = await work();
    // A resume that was under way before the worktree was marked may have begun meanwhile: its agent keeps the worktree. So it
    // does where nobody can say.
    const isRemoved = !(await isAtWork().catch(() => true));
    if (isRemoved) await dropWorktree(paths, record, { why, at: now(), ...(end === undefined ? {} : { end }) });
    return { files, isRemoved };
  } finally {
    if (isInUse(readRecord(paths), now())) writeRecord(paths, record);
  }
};

/** Applies what a task changed to a tree of its repository: all of it, and then the worktree goes; or nothing. @throws NotDone */
export const applyLeftChanges = (left: LeftWorktree, tree: string, use: WorktreeUse): Promise<Settled> => {
  const nothing = `Nothing of task ${named(left.task)} was applied`;
  return useAndRemove(left, use, "applied", async () => {
    const { commit } = await askGit(nothing, takeSnapshot(left.paths.tree));
    const applied = await askGit(nothing, applyChanges(tree, left.base, commit));
    if (applied.ok) return { files: applied.files, end: commit };
    const where = toSingleLine(tree);
    throw new NotDone(`${nothing}: these files were changed in another way in ${where}`, applied.conflicts);
  });
};

/** Removes a worktree with what a task changed there. Its patch stays. @throws NotDone */
export const discardLeftChanges = (left: LeftWorktree, use: WorktreeUse): Promise<Settled> =>
  useAndRemove(left, use, "discarded", async () => ({ files: await readLeftChanges(left) }));
