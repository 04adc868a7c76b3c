import { hasEnded, type TaskStatus } from "../../../task.ts";
import type { TaskRecord } from "../store.ts";

/** The fields by which a task is found, sorted and counted: some 200 bytes, where a record may have 10,000. */
export interface TaskSummary {
  id: string;
  /** The number of the change that created the task. Sorts tasks of the same millisecond: later ones have higher numbers. */
  createdChange: number;
  /** Epoch milliseconds of its launch. */
  startedAt: number;
  status: TaskStatus;
  agent: string;
  directory: string;
  batchId: string;
  /** The description in the form in which it is searched, see `searchKey`. */
  text: string;
  /** Epoch milliseconds. Undefined until the task ends. */
  endedAt?: number | undefined;
  /** Milliseconds of the newest run. Undefined until the task ends. */
  duration?: number | undefined;
}

/**
 * Normalizes a text for searching: lower case in every alphabet, so that É matches é, and composed characters, so that a
 * letter with an accent matches whether it is written as one character or two. É does not match e. No character is
 * special; the end of a line becomes a space.
 */
export const searchKey = (text: string): string => text.normalize("NFC").toLowerCase().replaceAll("\n", " ");

/** Summarizes a record. */
export const summaryOf = ({ task, snapshot }: TaskRecord, createdChange: number): TaskSummary => {
  const { completedAt, run } = snapshot.context;
  const endedAt = hasEnded(task) ? completedAt : undefined;
  return {
    id: task.sessionID,
    createdChange,
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

/** The fields by which tasks are sorted in the order of their launch. */
export type SortKey = Pick<TaskSummary, "startedAt" | "createdChange">;

/** Compares two tasks by the order of their launch. */
export const byLaunch = (a: SortKey, b: SortKey): number =>
  a.startedAt - b.startedAt || a.createdChange - b.createdChange;

/**
 * Merges records that are not stored yet into the stored summaries, and leaves out removed tasks. The result is not
 * sorted.
 */
export const mergeUnsaved = (
  stored: readonly TaskSummary[],
  unsaved: readonly TaskRecord[],
  isRemoved: (taskId: string) => boolean,
): TaskSummary[] => {
  // New tasks come after all stored ones of the same millisecond, in their own order.
  const fresh = new Map(
    unsaved.map((record, index) => [
      record.task.sessionID,
      summaryOf(record, Number.MAX_SAFE_INTEGER - unsaved.length + index),
    ]),
  );
  const kept = stored
    .filter(({ id }) => !isRemoved(id))
    .map((summary) => {
      const newer = fresh.get(summary.id);
      fresh.delete(summary.id);
      return newer ? { ...newer, createdChange: summary.createdChange } : summary;
    });
  return [...kept, ...[...fresh.values()].filter(({ id }) => !isRemoved(id))];
};
