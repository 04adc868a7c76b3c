import type { Usage } from "../../task.ts";
import type { Store } from "../store/store.ts";
import { type CountedTask, type TaskBelow, usageWith } from "../store/task-usage.ts";
import type { ProgressLog } from "./progress.ts";

/** Adds up what tasks used: as it is stored, and as it is counted now of those that work in this process. */
export interface UsageReader {
  /**
   * Returns a function that says what each of these tasks used with all tasks below it.
   * @param below all tasks below those; default: reads them
   */
  usageOf(tasks: readonly CountedTask[], below?: readonly TaskBelow[]): (task: CountedTask) => Usage;
}

/** Creates a reader of what the tasks of a store used. */
export const createUsageReader = (store: Pick<Store, "below">, progress: Pick<ProgressLog, "usageOf">): UsageReader => {
  const ownUsageOf = ({ sessionID, ownUsage }: CountedTask): Usage => progress.usageOf(sessionID) ?? ownUsage;
  return {
    usageOf: (tasks, below = store.below(tasks.map(({ sessionID }) => sessionID))) => usageWith(below, ownUsageOf),
  };
};
