import type { TaskRecord } from "../store.ts";
import {
  addCounts,
  byEnd,
  countsOf,
  createTaskQuery,
  type FoundTask,
  subtractCounts,
  type TaskCounts,
  type TaskQuery,
} from "./query.ts";
import { byLaunch, summaryOf, type TaskSummary } from "./task-summary.ts";

/** Queries over all tasks in a file. */
export interface FileQuery extends Omit<TaskQuery, "counts"> {
  /** Counts all tasks. The longest and the shortest run are those of tasks other than `without`. */
  counts(without?: readonly string[]): TaskCounts;
  /** Returns the summaries of those tasks that the file has, in any order. */
  summaries(taskIds: readonly string[]): TaskSummary[];
}

/** What the file lacks. */
export interface Unsaved {
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
 * Creates queries over the tasks of a file and what the file lacks. Reads no more of the file than the answer needs and the
 * unsaved tasks are.
 */
export const createMergedQuery = (file: FileQuery, { records, removed }: Unsaved): TaskQuery => {
  const hidden = file.summaries([...records.map(({ task }) => task.sessionID), ...removed]);
  const isHidden = new Set([...hidden.map(({ id }) => id), ...removed]);
  const numbers = new Map(hidden.map(({ id, createdChange }) => [id, createdChange]));
  const isRemoved = new Set(removed);
  const fresh = summariesOf(records, numbers).filter(({ id }) => !isRemoved.has(id));
  const [shown, outdated] = [createTaskQuery(fresh), createTaskQuery(hidden)];
  const kept = <T extends FoundTask>(found: readonly T[]): T[] => found.filter(({ id }) => !isHidden.has(id));

  return {
    page: (filter) => {
      const { offset, limit } = filter;
      const everything = { ...filter, offset: 0, limit: Number.POSITIVE_INFINITY };
      const [added, left] = [shown.page(everything).found, outdated.page(everything).found];
      // At most all added tasks stand before those of the file, and at most all outdated ones are in their way.
      const from = Math.max(0, offset - added.length);
      const stored = file.page({ ...filter, offset: from, limit: offset + limit - from + left.length });
      const total = stored.total - left.length + added.length;
      const [first] = stored.found;
      if (from > 0 && !first) return { found: [], total };
      const before = (tasks: readonly FoundTask[]): number =>
        from > 0 && first ? tasks.filter((task) => byLaunch(task, first) > 0).length : 0;
      const skipped = before(added);
      const merged = [...added.slice(skipped), ...kept(stored.found)].sort((a, b) => byLaunch(b, a));
      const start = from - before(left) + skipped;
      return { found: merged.slice(offset - start, offset - start + limit), total };
    },
    counts: () => {
      const stored = file.counts(hidden.map(({ id }) => id));
      return addCounts(subtractCounts(stored, countsOf(hidden)), shown.counts());
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
