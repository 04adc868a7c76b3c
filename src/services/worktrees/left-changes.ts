// A task at rest belongs to no process, so any process applies or discards its changes: all of them or none, at a person's
// word alone (docs/decisions/245-a-person-applies-changes.md).
import { existsSync, rmSync } from "node:fs";
import { type ChangedFile, hasEnded, type LeftOut, type Task } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import { toSingleLine } from "../platform/plain-text.ts";
import { cutOffSentence } from "../text/worktree-text.ts";
import { isCutOff, isThere, pathsOf, type WorktreePaths } from "./folders.ts";
import type { Conflict } from "./git/apply-changes.ts";
import { GitError } from "./git/git.ts";
import type { CutOff } from "./git/placing.ts";
import { lock, recoverCutOff } from "./lock.ts";
import type { ReadChanges } from "./read-changes.ts";
import { isUndecided, readChanges as readCountedChanges, readRecord, type WorktreeRecord } from "./record.ts";
import { dropWorktree } from "./remove-worktree.ts";

/** A task, as far as what it left in its worktree is concerned. */
type TaskWithWorktree = Pick<Task, "sessionID" | "description" | "directory" | "parentTaskId" | "worktree" | "status">;

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

/** What a person does with what a task changed: to see it or remove it, its patch is enough. */
export type WorktreeAction = "diff" | "apply" | "discard";

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
  use: WorktreeAction = "apply",
): LeftWorktree => {
  const { worktree, parentTaskId } = task;
  if (!worktree) throw new NotDone(`Task ${named(task)} worked in ${toSingleLine(task.directory)} itself.`);
  if (worktree.isShared) {
    const owner = parentTaskId === undefined ? "another task" : `task ${toSingleLine(parentTaskId)}`;
    throw new NotDone(`Task ${named(task)} worked in the worktree of ${owner}: name that one.`);
  }
  if (!hasEnded(task)) throw new NotDone(`Task ${named(task)} still runs. Wait for its end, or cancel it.`);
  const paths = pathsOf(root, worktree.id);
  const record = readRecord(paths);
  const isPatchEnough = use !== "apply" && record !== undefined && isUndecided(record) && existsSync(paths.patch);
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

/** True where git failed, or the disk did, which may be full or read-only. */
const isOfGitOrDisk = (error: unknown): error is Error =>
  error instanceof GitError || (error instanceof Error && "syscall" in error);

/** Returns what git answered. @throws NotDone with git's own words after `what` when git failed, or the system's when it did */
export const askGit = async <T>(what: string, asked: Promise<T>): Promise<T> => {
  try {
    return await asked;
  } catch (error) {
    if (isOfGitOrDisk(error)) throw new NotDone(`${what}: ${toSingleLine(error.message)}.`);
    throw error;
  }
};

/** What a task left changed. */
export interface LeftChanges {
  files: ChangedFile[];
  /** What lies in the worktree and is not among the changes. */
  leftOut: LeftOut[];
  /** What became of an earlier attempt to apply them, which was cut off; undefined where there was none. */
  cutOff: CutOff | undefined;
}

/** What the use of a worktree depends on. */
export interface WorktreeUse {
  /** True while a run of a task that works in it is under way: the task's own, or one that it launched. */
  isAtWork(): Promise<boolean>;
  /** Epoch milliseconds. */
  now(): number;
}

/** Changes that were applied or discarded. */
interface UsedChanges extends LeftChanges {
  /** Why the worktree stays; undefined where it was removed. */
  stays: string | undefined;
}

// What works on files is loaded when it is needed: the command is started for much else.
const readOf = async ({ paths, record, base }: LeftWorktree): Promise<ReadChanges> => {
  // Where the worktree is gone, its patch is all that is left: of its folder, a part may still be there.
  if (!isThere(paths) || readRecord(paths)?.gone)
    return { files: readCountedChanges(paths)?.files ?? [], leftOut: [], commit: "", tree: "" };
  const { readChangesIn } = await import("./read-changes.ts");
  return readChangesIn(paths, record, base);
};

/**
 * Does `work` while no run can begin in the worktree, after it has finished or undone what was cut off there.
 * @throws NotDone, and what `work` throws
 */
const useWorktree = async <T>(
  { task, paths, base, record: found }: LeftWorktree,
  now: WorktreeUse["now"],
  work: (record: WorktreeRecord, cutOff: CutOff | undefined) => Promise<T>,
): Promise<T> => {
  const what = `The changes of task ${named(task)} can be neither applied nor discarded now`;
  const release = await askGit(what, (async () => lock(paths, now()))());
  if (!release) throw new NotDone(`The changes of task ${named(task)} are being applied or discarded already.`);
  let cutOff: CutOff | undefined;
  try {
    // As it is now: somebody else may have used it since it was found.
    const record = readRecord(paths);
    if (!record || !isUndecided(record) || record.base !== base || record.gone?.why !== found.gone?.why)
      throw new NotDone(`The worktree of task ${named(task)} has changed in the meantime. Look again.`);
    cutOff = await recoverCutOff(paths).catch((error) => {
      const reason = toSingleLine(errorMessage(error));
      throw new NotDone(`Applying the changes of task ${named(task)} was cut off, which cannot be undone: ${reason}.`);
    });
    return await work(record, cutOff);
  } catch (error) {
    if (!(error instanceof NotDone) || !cutOff) throw error;
    throw new NotDone(`${cutOffSentence(cutOff, cutOff.tree)} ${error.message}`, error.conflicts);
  } finally {
    release();
  }
};

/** Reads what is changed in a worktree, and writes its patch anew. @throws NotDone */
export const readLeftChanges = async (left: LeftWorktree, now: WorktreeUse["now"]): Promise<LeftChanges> => {
  const what = `What task ${named(left.task)} changed cannot be read`;
  const cutOff = isCutOff(left.paths) ? await useWorktree(left, now, async (_, found) => found) : undefined;
  return { ...(await askGit(what, readOf(left))), cutOff };
};

/** What was done with changes, and all that was in the worktree then. */
interface Used extends LeftChanges {
  end: { commit: string; tree: string };
}

/** Does `work` while no run can begin in the worktree, and removes it then. @throws NotDone, and what `work` throws */
const useAndRemove = (
  left: LeftWorktree,
  { isAtWork, now }: WorktreeUse,
  why: "applied" | "discarded",
  work: (cutOff: CutOff | undefined) => Promise<Used>,
): Promise<UsedChanges> =>
  useWorktree(left, now, async (record, cutOff) => {
    const { task, paths } = left;
    if (await isAtWork())
      throw new NotDone(`An agent works in the worktree of task ${named(task)}. Wait for its end, or cancel it.`);
    const { end, ...done } = await work(cutOff);
    const stays = await whyItStays(left, isAtWork, end.tree, why === "applied" ? done.leftOut : []);
    try {
      if (stays === undefined)
        await dropWorktree(paths, record, { why, at: now(), ...(why === "applied" ? { end: end.commit } : {}) });
      return { ...done, stays };
    } catch (error) {
      // What was applied is applied: it can be applied again, and changes nothing then.
      return { ...done, stays: `it could not be removed: ${toSingleLine(errorMessage(error))}` };
    } finally {
      rmSync(paths.applied, { force: true });
    }
  });

/** Returns why a worktree is not to be removed though its changes were used; undefined where it is. */
const whyItStays = async (
  left: LeftWorktree,
  isAtWork: WorktreeUse["isAtWork"],
  tree: string,
  leftOut: readonly LeftOut[],
): Promise<string | undefined> => {
  // A resume that was under way before the worktree was marked may have begun meanwhile: its agent keeps the worktree. So it
  // does where nobody can say.
  if (await isAtWork().catch(() => true)) return "an agent works in it again";
  // Something that the agent started may still write.
  const now = await readOf(left).catch(() => undefined);
  if (now?.tree !== tree) return "something was changed in it meanwhile";
  return leftOut.length === 0 ? undefined : "it has what was not applied. Look at that, and discard it";
};

/** Refuses to apply a part of what a task made. @throws NotDone that names what git takes into no tree */
const requireAll = (nothing: string, leftOut: readonly LeftOut[]): void => {
  const refused = leftOut.flatMap(({ path, why }) => (why === "name" ? toSingleLine(path) : []));
  if (refused.length === 0) return;
  throw new NotDone(
    `${nothing}: git takes no files of such names: ${refused.join(", ")}. Rename or remove them there.`,
  );
};

/** Applies what a task changed to a tree of its repository: all of it, and then the worktree goes; or nothing. @throws NotDone */
export const applyLeftChanges = (left: LeftWorktree, tree: string, use: WorktreeUse): Promise<UsedChanges> => {
  const nothing = `Nothing of task ${named(left.task)} was applied`;
  const { paths, base } = left;
  return useAndRemove(left, use, "applied", async (cutOff) => {
    const { leftOut, ...end } = await askGit(nothing, readOf(left));
    requireAll(nothing, leftOut);
    const { applyIn } = await import("./git/apply-changes.ts");
    const applied = await askGit(nothing, applyIn(tree, { base, end: end.commit, journal: paths }));
    if (applied.ok) return { files: allOf(cutOff, tree, applied.files), leftOut, cutOff, end };
    const where = toSingleLine(tree);
    throw new NotDone(`${nothing}: these files were changed in another way in ${where}`, applied.conflicts);
  });
};

/** What an attempt had put in place that was cut off after that counts as applied now. */
const allOf = (cutOff: CutOff | undefined, tree: string, files: ChangedFile[]): ChangedFile[] => {
  if (cutOff?.became !== "finished" || cutOff.tree !== tree) return files;
  const paths = new Set(files.map(({ path }) => path));
  return [...files, ...cutOff.files.filter(({ path }) => !paths.has(path))];
};

/** Removes a worktree with what a task changed there. Its patch stays. @throws NotDone */
export const discardLeftChanges = (left: LeftWorktree, use: WorktreeUse): Promise<UsedChanges> => {
  const what = `What task ${named(left.task)} changed cannot be read, so nothing was discarded`;
  return useAndRemove(left, use, "discarded", async (cutOff) => {
    const { files, leftOut, ...end } = await askGit(what, readOf(left));
    return { files, leftOut, cutOff, end };
  });
};
