import { addUp, type TaskEntry, type Usage } from "../../task.ts";

/** What the usage of a task is added up from. */
export type CountedTask = Pick<TaskEntry, "sessionID" | "ownUsage">;

/** A task below another one, and what its own runs have used. */
export interface TaskBelow extends CountedTask, Pick<TaskEntry, "launchedAt"> {
  /** The nearest task above it. */
  parentTaskId: string;
}

/**
 * Creates a function that adds up what a task used with all tasks below it.
 * @param below at least the tasks below those that will be asked for, in any order
 * @param ownUsageOf what the own runs of a task have used; default: as stored
 */
export const usageWith = (
  below: readonly TaskBelow[],
  ownUsageOf: (task: CountedTask) => Usage = ({ ownUsage }) => ownUsage,
): ((task: CountedTask) => Usage) => {
  if (below.length === 0) return ownUsageOf;
  const children = Map.groupBy(below, ({ parentTaskId }) => parentTaskId);
  const usagesOf = (task: CountedTask): Usage[] => [
    ownUsageOf(task),
    ...(children.get(task.sessionID) ?? []).flatMap(usagesOf),
  ];
  return (task) => (children.has(task.sessionID) ? addUp(usagesOf(task)) : ownUsageOf(task));
};
