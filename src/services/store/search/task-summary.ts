import { hasEnded, type TaskStatus, type Usage } from "../../../task.ts";
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
  parentSessionID: string;
  batchId: string;
  /** The description in the form in which it is searched, see `searchKey`. */
  text: string;
  /** Epoch milliseconds. Undefined until the task ends. */
  endedAt?: number | undefined;
  /** Milliseconds of the newest run. Undefined until the task ends. */
  duration?: number | undefined;
  /** Of its own runs. */
  usage: Usage;
}

/**
 * Normalizes a text for searching: lower case in every alphabet, so that É matches é, and composed characters, so that a
 * letter with an accent matches whether it is written as one character or two. É does not match e. No character is
 * special; the end of a line and a NUL become a space, and half a surrogate pair U+FFFD, as in the file.
 */
export const searchKey = (text: string): string =>
  text
    .toWellFormed()
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[\n\0]/g, " ");

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
    parentSessionID: task.parentSessionID,
    batchId: task.batchId,
    text: searchKey(task.description),
    endedAt,
    duration: endedAt === undefined ? undefined : endedAt - run.startedAt,
    usage: { tokens: task.progress.tokens, cost: task.progress.cost },
  };
};

/** The fields by which tasks are sorted in the order of their launch. */
export type SortKey = Pick<TaskSummary, "startedAt" | "createdChange">;

/** Compares two tasks by the order of their launch. */
export const byLaunch = (a: SortKey, b: SortKey): number =>
  a.startedAt - b.startedAt || a.createdChange - b.createdChange;
