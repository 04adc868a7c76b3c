import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { attemptOf, conflictLines } from "../text/worktree-text.ts";
import { pathsOf } from "../worktrees/folders.ts";
import {
  applyLeftChanges,
  discardLeftChanges,
  findLeftWorktree,
  type LeftChanges,
  type LeftWorktree,
  NotDone,
  readLeftChanges,
} from "../worktrees/left-changes.ts";
import { readChanges, readRecord } from "../worktrees/record.ts";
import type { ApiTask, Changes, SourceResult } from "./contract/api-task.ts";

const refused = (reason: string) => ({ ok: false, reason, cause: "task" }) as const;

/** Characters of a diff that are sent: a page of code has some 3,000. */
const MAX_DIFF_CHARS = 500_000;

/** Where git begins another file. */
const NEXT_FILE = "\ndiff --git ";

/** Reads a patch to be looked at. Git writes names and lines as bytes; what is no text is shown as far as it can be. */
const diffIn = async (patch: string): Promise<Pick<Changes, "diff" | "isDiffCut">> => {
  if (!existsSync(patch)) return {};
  const text = await readFile(patch, "utf8");
  if (text.length <= MAX_DIFF_CHARS) return { diff: text };
  const end = text.lastIndexOf(NEXT_FILE, MAX_DIFF_CHARS);
  return { diff: text.slice(0, end + 1), isDiffCut: true };
};

/**
 * Creates the part of the source that is about what tasks left in their worktrees: it works in any process, on the files.
 * `root` is the folder of all worktrees; `isWorkedIn` returns true while a run of a task in the worktree of that id is under
 * way; `now` returns epoch milliseconds.
 */
export const createWorktreeChanges = ({
  root,
  task,
  isWorkedIn,
  now,
}: {
  root: string;
  task(taskId: string): ApiTask | undefined;
  isWorkedIn(worktreeId: string): boolean;
  now(): number;
}) => {
  const toChanges = (
    { paths, record }: Pick<LeftWorktree, "paths" | "record">,
    { files, leftOut = [], cutOff }: Pick<Changes, "files" | "leftOut"> & { cutOff?: LeftChanges["cutOff"] },
    became?: Changes["became"],
  ): Changes => ({
    ...{ tree: record.source, worktree: paths.tree, patch: paths.patch, files },
    ...(leftOut.length > 0 ? { leftOut } : {}),
    ...(cutOff ? { cutOff: attemptOf(cutOff) } : {}),
    ...(became ? { became } : {}),
  });

  /** The changes of a task whose worktree is gone, as they were counted at its end. */
  const ofGone = ({ worktree, resumeCount }: ApiTask): Changes | undefined => {
    if (!worktree || worktree.isShared) return undefined;
    const paths = pathsOf(root, worktree.id);
    const record = readRecord(paths);
    const counted = readChanges(paths);
    const files = counted?.run === resumeCount ? counted.files : [];
    return record?.gone && toChanges({ paths, record }, { files }, record.gone.why);
  };

  const answer = async (taskId: string, work: (found: ApiTask) => Promise<Changes>): Promise<SourceResult<Changes>> => {
    const found = task(taskId);
    if (!found) return refused(`Task ${taskId} was cleared.`);
    try {
      return { ok: true, value: await work(found) };
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
      const { message, conflicts } = error;
      if (conflicts.length === 0) return refused(message);
      const worktree = pathsOf(root, found.worktree?.id ?? "").tree;
      return refused(conflictLines(message, conflicts, { id: taskId, worktree }).join("\n"));
    }
  };

  const find = (found: ApiTask, use?: "discard") =>
    findLeftWorktree(root, found, (at) => new Date(at).toISOString(), use);

  const use = ({ worktree }: ApiTask) => ({ isAtWork: async () => isWorkedIn(worktree?.id ?? ""), now });

  return {
    /** Reads what an ended task left changed in its worktree. */
    changes: (taskId: string) =>
      answer(taskId, async (found) => {
        const gone = ofGone(found);
        if (gone) return { ...gone, ...(await diffIn(gone.patch)) };
        const left = find(found);
        const changes = toChanges(left, await readLeftChanges(left, now));
        return { ...changes, ...(changes.files.length > 0 ? await diffIn(changes.patch) : {}) };
      }),
    /** Applies it to the tree that the worktree was made from: all of it, and then the worktree goes; or nothing. */
    apply: (taskId: string) =>
      answer(taskId, async (found) => {
        const left = find(found);
        const applied = await applyLeftChanges(left, left.record.source, use(found));
        return toChanges(left, applied, applied.stays === undefined ? "applied" : undefined);
      }),
    /** Removes the worktree with it. */
    discard: (taskId: string) =>
      answer(taskId, async (found) => {
        const left = find(found, "discard");
        const discarded = await discardLeftChanges(left, use(found));
        return toChanges(left, discarded, discarded.stays === undefined ? "discarded" : undefined);
      }),
  };
};
