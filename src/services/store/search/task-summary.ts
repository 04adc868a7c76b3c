import { hasEnded, type TaskStatus } from "../../../task.ts";
import type { TaskRecord } from "../records.ts";

/** As much of a task as it takes to choose and count it: some 200 bytes, where a record may have 10,000. */
export interface TaskSummary {
  id: string;
  /** The number of the change that it came with. Tells tasks of the same millisecond apart: later ones have higher ones. */
  born: number;
  /** Epoch milliseconds of its launch. */
  startedAt: number;
  status: TaskStatus;
  agent: string;
  directory: string;
  batchId: string;
  /** The description as searches see it, see `folded`. */
  text: string;
  /** Epoch milliseconds. Undefined while it has not ended, as is `duration`, the milliseconds of its newest run. */
  endedAt?: number | undefined;
  duration?: number | undefined;
}

/**
 * A text as searches compare it: small letters of every alphabet, so that É is é, and a letter with an accent is the
 * same whether it is written as one character or as two. É is not e. Nothing in it has a special meaning; the end of a
 * line is a space.
 */
export const searchKey = (text: string): string => text.normalize("NFC").toLowerCase().replaceAll("\n", " ");

/** What is listed of a record. */
export const summaryOf = ({ task, snapshot }: TaskRecord, born: number): TaskSummary => {
  const { completedAt, run } = snapshot.context;
  const endedAt = hasEnded(task) ? completedAt : undefined;
  return {
    id: task.sessionID,
    born,
    startedAt: Date.parse(task.startedAt),
    status: task.status,
    agent: task.agent,
    directory: task.directory,
    batchId: task.batchId,
    text: searchKey(task.description),
    endedAt,
    duration: endedAt === undefined ? undefined : endedAt - run.startedAt,
  };
};

/** Where a task stands in the order of launch. */
export type SortKey = Pick<TaskSummary, "startedAt" | "born">;

/** Compares by the order of launch. */
export const byLaunch = (a: SortKey, b: SortKey): number => a.startedAt - b.startedAt || a.born - b.born;

/** The tasks as they stand, in no order, when some of them have changed, or are new, and others are gone. */
export const mergeUnsaved = (
  entries: readonly TaskSummary[],
  changed: readonly TaskRecord[],
  isGone: (taskId: string) => boolean,
): TaskSummary[] => {
  // New ones come after all others of their millisecond, in their own order.
  const fresh = new Map(
    changed.map((record, index) => [
      record.task.sessionID,
      summaryOf(record, Number.MAX_SAFE_INTEGER - changed.length + index),
    ]),
  );
  const kept = entries
    .filter(({ id }) => !isGone(id))
    .map((listed) => {
      const newer = fresh.get(listed.id);
      fresh.delete(listed.id);
      return newer ? { ...newer, born: listed.born } : listed;
    });
  return [...kept, ...[...fresh.values()].filter(({ id }) => !isGone(id))];
};
