import { addUp, addUpWakes, type WakeCosts } from "../../../task.ts";
import { searchKey, summaryOf, type TaskSummary, wakeCostsOf } from "../sqlite/listed-table.ts";
import {
  byLaunch,
  type createFileQuery,
  type FoundTask,
  type StoredCounts,
  type TaskQuery,
} from "../sqlite/task-query.ts";
import type { PageFilter, TaskRecord } from "../store.ts";

/** Sorts ended tasks by their end, newest first. */
const byEnd = (a: FoundTask, b: FoundTask): number =>
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

/** Counts summaries. */
const countsOf = (summaries: readonly TaskSummary[]): StoredCounts => {
  const durations = summaries.flatMap(({ duration }) => duration ?? []);
  const extremeOf = (pick: typeof Math.max) => (durations.length === 0 ? undefined : pick(...durations));
  return {
    tasks: summaries.map(({ status, agent }) => ({ status, agent, count: 1 })),
    ended: durations.length,
    duration: {
      sum: durations.reduce((sum, duration) => sum + duration, 0),
      max: extremeOf(Math.max),
      min: extremeOf(Math.min),
    },
    usage: addUp(summaries),
    wakeCosts: addUpWakes(summaries.map(wakeCostsOf)),
  };
};

const negative = ({ wakes, tokens, cachedTokens, cost }: WakeCosts): WakeCosts => ({
  wakes: -wakes,
  tokens: -tokens,
  cachedTokens: -cachedTokens,
  cost: -cost,
});

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
    live: () => sorted.filter(({ endedAt }) => endedAt === null),
    newestEnded: (count, skip) =>
      sorted
        .filter(({ endedAt }) => endedAt !== null)
        .sort(byEnd)
        .slice(skip, skip + count),
    idsStartingWith: (beginning, limit) =>
      sorted
        .flatMap(({ id }) => (id.startsWith(beginning) ? [id] : []))
        .sort()
        .slice(0, limit),
  };
};

/** What the file lacks. */
interface Unsaved {
  /** Tasks whose record in the file is missing or outdated, in the order of their launch. */
  records: readonly TaskRecord[];
  /** Ids of tasks that are not to be found any more. */
  removed: readonly string[];
}

/** Summarizes records that no file has: those of the same millisecond come in the order in which they are given. */
export const summariesOf = (records: readonly TaskRecord[], numbers?: ReadonlyMap<string, number>): TaskSummary[] =>
  records.map((record, index) =>
    // New tasks come after all stored ones of the same millisecond, in their own order.
    summaryOf(record, numbers?.get(record.task.sessionID) ?? Number.MAX_SAFE_INTEGER - records.length + index),
  );

/**
 * Creates queries over the tasks of a file and what the file lacks. Reads the keys of what the answer needs and of what comes
 * before it, and of as many more as there are unsaved tasks.
 */
export const createMergedQuery = (
  file: ReturnType<typeof createFileQuery>,
  { records, removed }: Unsaved,
): TaskQuery => {
  const hidden = file.summaries([...records.map(({ task }) => task.sessionID), ...removed]);
  const isHidden = new Set([...hidden.map(({ id }) => id), ...removed]);
  const numbers = new Map(hidden.map(({ id, createdChange }) => [id, createdChange]));
  const isRemoved = new Set(removed);
  const fresh = summariesOf(records, numbers).filter(({ id }) => !isRemoved.has(id));
  const [shown, outdated] = [createTaskQuery(fresh), createTaskQuery(hidden)];
  const kept = (found: readonly FoundTask[]): FoundTask[] => found.filter(({ id }) => !isHidden.has(id));

  return {
    page: (filter) => {
      const { offset, limit } = filter;
      const everything = { ...filter, offset: 0, limit: Number.POSITIVE_INFINITY };
      const [added, left] = [shown.page(everything), outdated.page(everything)];
      // At most all outdated ones are in the way of those of the file.
      const stored = file.page({ ...filter, offset: 0, limit: offset + limit + left.total });
      const merged = [...added.found, ...kept(stored.found)].sort((a, b) => byLaunch(b, a));
      return { found: merged.slice(offset, offset + limit), total: stored.total - left.total + added.total };
    },
    counts: () => {
      // The longest and the shortest run of the file are those of tasks that are not hidden.
      const stored = file.counts(hidden.map(({ id }) => id));
      const [added, left] = [shown.counts(), outdated.counts()];
      return {
        tasks: [...stored.tasks, ...added.tasks, ...left.tasks.map((row) => ({ ...row, count: -row.count }))],
        ended: stored.ended + added.ended - left.ended,
        duration: {
          sum: stored.duration.sum + added.duration.sum - left.duration.sum,
          max: extreme(Math.max, stored.duration.max, added.duration.max),
          min: extreme(Math.min, stored.duration.min, added.duration.min),
        },
        usage: addUp([stored.usage, added.usage, { tokens: -left.usage.tokens, cost: -left.usage.cost }]),
        wakeCosts: addUpWakes([stored.wakeCosts, added.wakeCosts, negative(left.wakeCosts)]),
      };
    },
    batch: (batchId) => [...kept(file.batch(batchId)), ...shown.batch(batchId)].sort(byLaunch),
    live: () => [...kept(file.live()), ...shown.live()].sort(byLaunch),
    newestEnded: (count, skip) => {
      const most = skip + count;
      const stored = kept(file.newestEnded(most + hidden.length, 0));
      return [...stored, ...shown.newestEnded(most, 0)].sort(byEnd).slice(skip, most);
    },
    idsStartingWith: (beginning, limit) => {
      const stored = file.idsStartingWith(beginning, limit + hidden.length).filter((id) => !isHidden.has(id));
      return [...stored, ...shown.idsStartingWith(beginning, limit)].sort().slice(0, limit);
    },
  };
};
