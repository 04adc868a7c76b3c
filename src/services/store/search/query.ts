import { TASK_STATUSES } from "../../../field-values.ts";
import { addUp, type TaskStatus, type Usage } from "../../../task.ts";
import type { PageFilter, TaskHistory, TaskRecord, TaskStats } from "../store.ts";
import { byLaunch, type SortKey, searchKey, type TaskSummary } from "./task-summary.ts";

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

/** Sorts ended tasks by their end, newest first. */
export const byEnd = (a: FoundTask, b: FoundTask): number =>
  (b.endedAt ?? 0) - (a.endedAt ?? 0) || b.createdChange - a.createdChange;

const matcherOf = (filter: PageFilter): ((of: TaskSummary) => boolean) => {
  const { status, agent, directory, parentSessionID, batchId, search = "" } = filter;
  const text = searchKey(search);
  return (summary) =>
    (status === undefined || summary.status === status) &&
    (agent === undefined || summary.agent === agent) &&
    (directory === undefined || summary.directory === directory) &&
    (parentSessionID === undefined || summary.parentSessionID === parentSessionID) &&
    (batchId === undefined || summary.batchId === batchId) &&
    summary.text.includes(text);
};

const extreme = (pick: (a: number, b: number) => number, a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : pick(a, b);

export const addCounts = (a: TaskCounts, b: TaskCounts): TaskCounts => ({
  tasks: [...a.tasks, ...b.tasks],
  ended: a.ended + b.ended,
  duration: {
    sum: a.duration.sum + b.duration.sum,
    max: extreme(Math.max, a.duration.max, b.duration.max),
    min: extreme(Math.min, a.duration.min, b.duration.min),
  },
  usage: addUp([a.usage, b.usage]),
});

/** Subtracts counts. The longest and the shortest run stay. */
export const subtractCounts = (a: TaskCounts, b: TaskCounts): TaskCounts => ({
  tasks: [...a.tasks, ...b.tasks.map((row) => ({ ...row, count: -row.count }))],
  ended: a.ended - b.ended,
  duration: { ...a.duration, sum: a.duration.sum - b.duration.sum },
  usage: addUp([a.usage, { tokens: -b.usage.tokens, cost: -b.usage.cost }]),
});

/** Counts summaries. */
export const countsOf = (summaries: readonly TaskSummary[]): TaskCounts => {
  const durations = summaries.flatMap(({ duration }) => duration ?? []);
  return {
    tasks: summaries.map(({ status, agent }) => ({ status, agent, count: 1 })),
    ended: durations.length,
    duration: {
      sum: durations.reduce((sum, duration) => sum + duration, 0),
      max: durations.reduce<number | undefined>((max, duration) => Math.max(max ?? duration, duration), undefined),
      min: durations.reduce<number | undefined>((min, duration) => Math.min(min ?? duration, duration), undefined),
    },
    usage: addUp(summaries.map(({ usage }) => usage)),
  };
};

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

/** Creates queries over some tasks, comparing each with what is asked. */
export const createTaskQuery = (summaries: readonly TaskSummary[]): TaskQuery => {
  const sorted = summaries.toSorted(byLaunch);
  return {
    page: (filter) => {
      const found = sorted.filter(matcherOf(filter)).reverse();
      return { found: found.slice(filter.offset, filter.offset + filter.limit), total: found.length };
    },
    counts: () => countsOf(sorted),
    batch: (batchId) => sorted.filter((summary) => summary.batchId === batchId),
    live: () => sorted.filter(({ endedAt }) => endedAt === undefined),
    newestEnded: (count, skip) =>
      sorted
        .filter(({ endedAt }) => endedAt !== undefined)
        .sort(byEnd)
        .slice(skip, skip + count),
    idsStartingWith: (beginning, limit) =>
      sorted
        .flatMap(({ id }) => (id.startsWith(beginning) ? [id] : []))
        .sort()
        .slice(0, limit),
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
