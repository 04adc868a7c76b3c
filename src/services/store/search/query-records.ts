import type { TaskRecord } from "../store.ts";
import type { History } from "../task-history.ts";
import type { Finder } from "./query.ts";

/** As much of a history as can be answered from what is listed of tasks, and their records. */
export type FoundRecords = Pick<History, "page" | "tallies" | "batch" | "live" | "newestEnded" | "idsFrom">;

/** Answers from a finder, with records as `get` gives them. */
export const foundRecords = (finder: Finder, get: (taskId: string) => TaskRecord | undefined): FoundRecords => {
  const records = (ids: string[]): TaskRecord[] => ids.flatMap((id) => get(id) ?? []);
  return {
    page: (filter) => {
      const { ids, total } = finder.page(filter);
      return { records: records(ids), total };
    },
    tallies: finder.tallies,
    batch: (batchId) => records(finder.batch(batchId)),
    live: () => records(finder.live()),
    newestEnded: (count, skip) => records(finder.newestEnded(count, skip)),
    idsFrom: finder.idsFrom,
  };
};
