import { isAtRest } from "../../src/machines/task/machine.ts";
import type { Store } from "../../src/services/store/store.ts";
import type { Task } from "../../src/task.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import type { TaskObservations } from "./observations.ts";

interface WatchedParts {
  tracks: TaskObservations;
  /** Says which results of these tasks were never delivered. */
  undelivered(tasks: Task[]): string[];
  fault(words: string): void;
}

/** Watches that the option `retention` removes no task but those that are at rest, and whose results were delivered. */
export const watchRetention = (store: Store, { tracks, undelivered, fault }: WatchedParts): Store => ({
  ...store,
  sweep: (retention, now) => {
    const before = wholeTasks(store).map((task) => ({ task, snapshot: store.get(task.sessionID)?.snapshot }));
    const count = store.sweep(retention, now);
    for (const { task, snapshot } of before) {
      if (store.get(task.sessionID)) continue;
      if (!snapshot || !isAtRest(snapshot)) fault(`${task.sessionID} was removed as outdated, and is not at rest`);
      for (const words of undelivered([task])) fault(`${words}, and it was removed as outdated`);
      tracks.isOutdated(task);
    }
    return count;
  },
});
