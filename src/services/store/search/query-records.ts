import type { TaskRecord } from "../records.ts";
import type { TaskHistory } from "../task-history.ts";
import type { TaskQuery } from "./query.ts";

/** As much of a history as can be answered from what is listed of tasks, and their records. */
export type MatchedRecords = Pick<TaskHistory, "page" | "stats" | "batch" | "live" | "newestEnded" | "idsFrom">;

/** Answers from a finder, with records as `get` gives them. */
export const matchedRecords = (finder: TaskQuery, get: (taskId: string) => TaskRecord | undefined): MatchedRecords => {
  const records = (ids: string[]): TaskRecord[] => ids.flatMap((id) => get(id) ?? []);
  return {
    page: (filter) => {
      const { ids, total } = finder.page(filter);
      return { records: records(ids), total };
    },
    stats: finder.tallies,
    batch: (batchId) => records(finder.batch(batchId)),
    live: () => records(finder.live()),
    newestEnded: (count, skip) => records(finder.newestEnded(count, skip)),
    idsFrom: finder.idsFrom,
  };
};
