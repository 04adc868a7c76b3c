import { finderOf } from "./finder.ts";
import { foundRecords } from "./found-records.ts";
import type { History } from "./history.ts";
import { type Listed, listedOf } from "./listed.ts";
import { createListing } from "./listing.ts";
import { createRequestsInHand, nobodyHas } from "./requests-in-hand.ts";
import type { TaskRecord } from "./store.ts";

/** The history of a process that has no file, and the changes that it is made of. */
export interface MemoryHistory extends History {
  /** A task is new, or not as it was. */
  changed(record: TaskRecord): void;
  removed(taskId: string): void;
}

/** An empty history. `get` gives records as they stand. */
export const createMemoryHistory = (get: (taskId: string) => TaskRecord | undefined): MemoryHistory => {
  const listing = createListing();
  /** In the order of their newest changes. */
  const changes = new Map<string, { change: number; listed: Listed }>();
  const requests = createRequestsInHand();
  let latest = 0;

  return {
    ...foundRecords(finderOf(listing), get),
    changed: (record) => {
      const id = record.task.sessionID;
      latest += 1;
      const listed = listedOf(record, changes.get(id)?.listed.born ?? latest);
      listing.put(listed);
      changes.delete(id);
      changes.set(id, { change: latest, listed });
    },
    removed: (taskId) => {
      const known = changes.get(taskId);
      if (known) listing.drop(known.listed);
      changes.delete(taskId);
    },
    latestChange: () => latest,
    changedSince: (since, limit) =>
      [...changes]
        .filter(([, { change }]) => change > since)
        .slice(0, limit)
        .flatMap(([id, { change, listed }]) => {
          const record = get(id);
          return record ? [{ change, born: listed.born, record }] : [];
        }),

    ask: requests.ask,
    takeRequests: () => {
      for (const { id, taskId } of requests.take((taskId) => !changes.has(taskId))) {
        requests.answer(id, nobodyHas(taskId));
      }
      return requests.take(() => true);
    },
    answer: (id, answer) => void requests.answer(id, answer),
    takeAnswer: requests.takeAnswer,
  };
};
