import type { Usage } from "../../task.ts";
import type { Store } from "../store/store.ts";
import { type CountedTask, type TaskBelow, usageWith } from "../store/task-usage.ts";
import type { ProgressLog } from "./progress.ts";

/** Creates what adds up what tasks used: as it is stored, and as it is counted now of those that work in this process. */
export const createUsageReader = (store: Pick<Store, "below">, progress: Pick<ProgressLog, "usageOf">) => {
  const ownUsageOf = ({ sessionID, ownUsage }: CountedTask): Usage => progress.usageOf(sessionID) ?? ownUsage;
  return {
    /**
     * Returns a function that says what each of these tasks used with all tasks below it.
     * @param below all tasks below those; default: reads them
     */
    usageOf: (
      tasks: readonly CountedTask[],
      below: readonly TaskBelow[] = store.below(tasks.map(({ sessionID }) => sessionID)),
    ): ((task: CountedTask) => Usage) => usageWith(below, ownUsageOf),
  };
};

export type UsageReader = ReturnType<typeof createUsageReader>;
