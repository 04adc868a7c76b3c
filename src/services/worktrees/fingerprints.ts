// What a gate saw is named by a fingerprint of files, and compared with what is there when its receipt is read
// (docs/decisions/304-a-gate-names-the-files-it-saw.md).
import type { GateFiles, GateResult, Receipt } from "../../receipt.ts";
import { type Task, workDirectory } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage } from "../platform/log.ts";
import { pathsOf, worktreeIdOf } from "./folders.ts";
import type { WorkingTree } from "./git/git.ts";
import { readRecord } from "./record.ts";

/** Milliseconds that git may take. Ten thousand files take it half a second on a machine that is busy (measured). */
const TIME_LIMIT_MS = 10_000;

/** A fingerprint of files, or why there is none. */
export type FilesRead = { fingerprint: string } | { problem: string };

/** Finds the working tree that a directory lies in; undefined where it lies in none. @throws GitError when git cannot say so */
const findTreeOf = async (root: string, directory: string): Promise<WorkingTree | undefined> => {
  const { findTree, worktreeAt } = await import("./git/working-tree.ts");
  const id = worktreeIdOf(root, directory);
  if (id === undefined) return findTree(directory);
  const paths = pathsOf(root, id);
  const record = readRecord(paths);
  const source = record && !record.gone ? await findTree(record.source) : undefined;
  return source && worktreeAt(source, paths.tree);
};

/**
 * Takes the fingerprint of all files in the working tree that a directory lies in. Never rejects.
 * @param root the folder of all worktrees
 */
export const readFiles = async (root: string, directory: string): Promise<FilesRead> => {
  const endsAt = Date.now() + TIME_LIMIT_MS;
  try {
    const tree = await findTreeOf(root, directory);
    if (!tree) return { problem: "the folder in which it ran is in no git repository" };
    const { fingerprintOf } = await import("./git/snapshot.ts");
    return { fingerprint: await fingerprintOf({ ...tree, endsAt }) };
  } catch (error) {
    if (Date.now() >= endsAt) return { problem: `git took longer than ${TIME_LIMIT_MS / 1_000} s to read them` };
    return { problem: `git could not read them: ${errorMessage(error)}` };
  }
};

/** Returns which files a command saw, by what was read before and after it. */
export const filesSeen = (before: FilesRead, after: FilesRead): GateFiles => {
  if ("problem" in before) return before;
  if ("problem" in after) return after;
  return { fingerprint: after.fingerprint, changedMeanwhile: after.fingerprint !== before.fingerprint };
};

/** Milliseconds for which files that were read are not read again: a person who looks at several tasks asks at once. */
const FRESH_MS = 2_000;

/** Milliseconds for which whoever reads a receipt waits for the comparison. One that takes longer serves those who come next. */
const LONGEST_WAIT_MS = 3_000;

/** The part of a task that a comparison needs. */
type GatedTask = Pick<Task, "directory" | "worktree" | "server" | "completedAt" | "receipt">;

/** Files as they were read, and since when. */
interface Reading {
  /** When it began, epoch milliseconds. */
  since: number;
  isDone: boolean;
  read: Promise<FilesRead>;
}

const withAnswer = (receipt: Receipt, gate: GateResult, files: GateFiles, haveChanged: boolean): Receipt => ({
  ...receipt,
  gate: { ...gate, files: { ...files, haveChanged } },
});

/**
 * Creates what compares the files that gates saw with those that are there now, for a person or an agent that reads a receipt.
 * @param readFilesIn takes the fingerprint of the files of a directory
 */
export const createGateComparison = (
  readFilesIn: (directory: string) => Promise<FilesRead>,
  { now, after }: Pick<Clock, "now" | "after">,
) => {
  const readings = new Map<string, Reading>();

  const isOfUse = ({ since, isDone }: Reading): boolean => !isDone || now() - since < FRESH_MS;

  /** What was read before the gate had ended says nothing of it. */
  const readSince = (directory: string, endedAt: number): Promise<FilesRead> => {
    for (const [place, reading] of readings) if (!isOfUse(reading)) readings.delete(place);
    const known = readings.get(directory);
    if (known && known.since >= endedAt) return known.read;
    const reading: Reading = { since: now(), isDone: false, read: readFilesIn(directory) };
    readings.set(directory, reading);
    void reading.read.then(() => {
      reading.isDone = true;
    });
    return reading.read;
  };

  const inTime = <T>(work: Promise<T>): Promise<T | undefined> =>
    new Promise((resolve) => {
      const cancel = after(LONGEST_WAIT_MS, () => resolve(undefined));
      void work.then(resolve).finally(cancel);
    });

  /** Returns the task, whose receipt says whether files have changed since its gate ended, where that can be said. */
  return async <T extends GatedTask>(task: T): Promise<T> => {
    const { receipt, server, completedAt } = task;
    const { gate } = receipt ?? {};
    if (!receipt || !gate?.files?.fingerprint || server || completedAt === undefined) return task;
    const read = await inTime(readSince(workDirectory(task), Date.parse(completedAt)));
    if (!read || "problem" in read) return task;
    const haveChanged = read.fingerprint !== gate.files.fingerprint;
    return { ...task, receipt: withAnswer(receipt, gate, gate.files, haveChanged) };
  };
};
