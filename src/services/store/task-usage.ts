import { addUp, hasEnded, type Usage, type Waiting } from "../../task.ts";
import { LEASE_MS } from "./ownership.ts";
import type { CountedTask, Store, TaskBelow } from "./store.ts";

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

const iso = (ms: number): string => new Date(ms).toISOString();

/**
 * Adds to a live task which process is waited for, where the one that supervises it has shown no sign of life for a lease: it
 * is held up, and others take its tasks over only after a while. `now` is epoch milliseconds.
 */
export const withSilentSupervisor = <T extends { sessionID: string; waiting?: Waiting | undefined }>(
  task: T,
  store: Pick<Store, "otherSupervisor">,
  now: number,
): T => {
  const { waiting } = task;
  const other = waiting && store.otherSupervisor(task.sessionID);
  if (!other || now - other.heartbeatAt <= LEASE_MS) return task;
  const silent = { pid: other.pid, since: iso(other.heartbeatAt), until: iso(other.freeAt) };
  return { ...task, waiting: { ...waiting, silent } };
};
