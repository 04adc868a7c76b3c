import { hasEnded } from "../../task.ts";
import type { OpenUserRequest } from "../../user-request.ts";
import { openRequests } from "./open-requests.ts";
import type { PanelTask } from "./panel-task.ts";

/** A task in a list. */
export interface Row {
  task: PanelTask;
  /** How many tasks of the list are above it. */
  depth: number;
  /** The request of its own that a person has to answer; absent when that of a task below it holds it up. */
  request?: OpenUserRequest;
}

/** True for a task that nobody works on yet: it waits for a slot, or for a server of the fleet. */
export const isQueued = ({ waiting }: Pick<PanelTask, "waiting">): boolean =>
  waiting?.for === "slot" || waiting?.for === "fleet" || waiting?.for === "server";

const newestFirst = (a: PanelTask, b: PanelTask): number =>
  (b.completedAt ?? b.startedAt).localeCompare(a.completedAt ?? a.startedAt) || a.sessionID.localeCompare(b.sessionID);

/**
 * Orders the tasks of a conversation as a person looks at them: those that wait for the person first, wherever they are;
 * then those that run, each followed by its own tasks; then those that wait for a slot, in the order of the queue; then
 * those that have ended, newest first.
 */
export const rowsOf = (tasks: readonly PanelTask[]): Row[] => {
  const asking = new Map<string, Row>();
  for (const { task, request } of openRequests(tasks)) {
    if (!asking.has(task.sessionID)) asking.set(task.sessionID, { task, depth: 0, request });
  }
  const running = tasks.filter((task) => !hasEnded(task) && !asking.has(task.sessionID));
  const isListed = new Set(running.map(({ sessionID }) => sessionID));
  const aboveOf = ({ parentTaskId }: PanelTask) =>
    parentTaskId !== undefined && isListed.has(parentTaskId) ? parentTaskId : undefined;
  const below = Map.groupBy(running, aboveOf);

  const inQueue = (a: PanelTask, b: PanelTask): number =>
    Number(isQueued(a)) - Number(isQueued(b)) || (a.queue?.place ?? 0) - (b.queue?.place ?? 0);
  const branch = (above: string | undefined, depth: number): Row[] =>
    (below.get(above) ?? [])
      .toSorted(inQueue)
      .flatMap((task) => [{ task, depth }, ...branch(task.sessionID, depth + 1)]);

  const ended = tasks.filter(hasEnded).toSorted(newestFirst);
  return [...asking.values(), ...branch(undefined, 0), ...ended.map((task) => ({ task, depth: 0 }))];
};
