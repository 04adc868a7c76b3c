import { TASK_STATUSES } from "../../../field-values.ts";
import { addUp, hasEnded, type TaskStatus, type Usage } from "../../../task.ts";
import type { PageFilter, TaskHistory, TaskRecord, TaskStats } from "../store.ts";

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

/** A task that was found, and what it is sorted by. */
export interface FoundTask extends SortKey {
  id: string;
  /** Epoch milliseconds. Only where ended tasks were asked for. */
  endedAt?: number | undefined;
}

/** The tasks of one page, and how many tasks match in all. */
export interface Match {
  found: FoundTask[];
  total: number;
}

/** Counts of tasks that can be added and subtracted. */
export interface TaskCounts {
  /** How many tasks have each status and agent. */
  tasks: { status: TaskStatus; agent: string; count: number }[];
  /** How many have ended, and milliseconds of their newest runs. `max` and `min` are undefined when none has. */
  ended: number;
  duration: { sum: number; max: number | undefined; min: number | undefined };
  usage: Usage;
}

/** The questions of `TaskHistory` that summaries can answer, with keys in the place of records. */
export interface TaskQuery {
  page(filter: PageFilter): Match;
  counts(): TaskCounts;
  batch(batchId: string): FoundTask[];
  live(): FoundTask[];
  newestEnded(count: number, skip: number): FoundTask[];
  idsStartingWith(beginning: string, limit: number): string[];
}

/** Queries over all tasks in a file. */
export interface FileQuery extends Omit<TaskQuery, "counts"> {
  /** Counts all tasks. The longest and the shortest run are those of tasks other than `without`. */
  counts(without?: readonly string[]): TaskCounts;
  /** Returns the summaries of those tasks that the file has, in any order. */
  summaries(taskIds: readonly string[]): TaskSummary[];
}

/** The stats that counts add up to. */
export const statsOf = ({ tasks, ended, duration: { sum, max = 0, min = 0 }, usage }: TaskCounts): TaskStats => {
  const byStatus = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as TaskStats["byStatus"];
  // A map, since an agent may be called `constructor`.
  const byAgent = new Map<string, number>();
  for (const { status, agent, count } of tasks) {
    byStatus[status] += count;
    byAgent.set(agent, (byAgent.get(agent) ?? 0) + count);
  }
  return {
    total: tasks.reduce((total, { count }) => total + count, 0),
    byStatus,
    byAgent: Object.fromEntries([...byAgent].filter(([, count]) => count > 0)),
    duration: ended === 0 ? { avg: 0, max: 0, min: 0 } : { avg: sum / ended, max, min },
    // A sum of floating-point numbers from which others were subtracted may end a little below zero.
    usage: { tokens: usage.tokens, cost: Math.max(0, addUp([usage]).cost) },
  };
};

/** The questions of `TaskHistory` that queries and a way to read single records can answer. */
export type RecordQuery = Pick<TaskHistory, "page" | "stats" | "batch" | "live" | "newestEnded" | "idsStartingWith">;

/** Answers with records, read by `get`, in the place of keys. A task without a readable record is left out. */
export const createRecordQuery = (query: TaskQuery, get: (taskId: string) => TaskRecord | undefined): RecordQuery => {
  const records = (found: FoundTask[]): TaskRecord[] => found.flatMap(({ id }) => get(id) ?? []);
  return {
    page: (filter) => {
      const { found, total } = query.page(filter);
      return { records: records(found), total };
    },
    stats: () => statsOf(query.counts()),
    batch: (batchId) => records(query.batch(batchId)),
    live: () => records(query.live()),
    newestEnded: (count, skip = 0) => records(query.newestEnded(count, skip)),
    idsStartingWith: query.idsStartingWith,
  };
};
