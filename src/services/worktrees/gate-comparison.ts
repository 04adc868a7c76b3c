// What a gate saw is compared with what is there when its receipt is read
// (docs/decisions/304-a-gate-names-the-files-it-saw.md).
import type { GateFiles, GateResult, Receipt } from "../../receipt.ts";
import { type Task, workDirectory } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { FilesRead } from "./fingerprints.ts";

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
