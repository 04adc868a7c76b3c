import { hasEnded, type Waiting } from "../../task.ts";
import type { Store } from "./store.ts";

/**
 * Adds to a task that waits for tasks of its own how many these are. The chart knows those for which a tool call waits; where
 * the agent's turn has ended, it waits for all that it launched, and the store knows them.
 */
export const withAwaitedTasks = <T extends { sessionID: string; waiting?: Waiting | undefined }>(
  task: T,
  store: Pick<Store, "list">,
): T => {
  const { waiting, sessionID: parentTaskId } = task;
  if (waiting?.for !== "tasks" || waiting.tasks !== undefined) return task;
  const tasks = store.list({ parentTaskId }).filter((own) => !hasEnded(own)).length;
  return tasks === 0 ? task : { ...task, waiting: { ...waiting, tasks } };
};
