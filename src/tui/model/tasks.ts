import type { ApiTask } from "../../client/api-types.ts";
import { isQueued } from "../../services/text/task-state.ts";
import { hasEnded } from "../../task.ts";
import type { OpenUserRequest } from "../../user-request.ts";

/** A task as the panel knows it. */
export type PanelTask = ApiTask;

/** Tasks by id. */
export type PanelTasks = ReadonlyMap<string, PanelTask>;

/** Returns the session above a session, as the host knows it; undefined where there is none, or it is not known. */
export type HostParent = (sessionID: string) => string | undefined;

/** Sessions above each other at most: a damaged file could otherwise make a circle of them. */
const MAX_DEPTH = 50;

/**
 * Returns the session in which a person began what goes on in a session: that of the task's parent, and so on upwards. A
 * fork has no parent in the host; its task knows it.
 */
export const conversationOf = (sessionID: string, tasks: PanelTasks, hostParent: HostParent): string => {
  let root = sessionID;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const above = tasks.get(root)?.parentSessionID ?? hostParent(root);
    if (above === undefined) break;
    root = above;
  }
  return root;
};

/** Returns the tasks of a conversation at any depth, in the order of their launch. */
export const tasksOf = (conversation: string, tasks: PanelTasks, hostParent: HostParent): PanelTask[] =>
  [...tasks.values()]
    .filter(({ sessionID }) => conversationOf(sessionID, tasks, hostParent) === conversation)
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt) || a.sessionID.localeCompare(b.sessionID));

/**
 * Adds the tasks of a conversation that ended long ago to those that are heard of, which are newer where both have one.
 * `cleared` are the ids of those that are gone by now.
 */
export const withEarlier = (
  heard: PanelTasks,
  earlier: readonly PanelTask[],
  cleared: ReadonlySet<string>,
): PanelTasks => {
  const kept = earlier.filter(({ sessionID }) => !cleared.has(sessionID));
  return new Map([...kept.map((task) => [task.sessionID, task] as const), ...heard]);
};

/** A request that a person has to answer, and the task whose agent asks. */
export interface AskedRequest {
  task: PanelTask;
  request: OpenUserRequest;
}

/**
 * Returns the open requests of tasks, each once, oldest first. A request also stands in the tasks above the one that asks;
 * the newest of them is the nearest.
 */
export const openRequests = (tasks: readonly PanelTask[]): AskedRequest[] => {
  const nearest = new Map<string, AskedRequest>();
  for (const task of tasks.filter((candidate) => !hasEnded(candidate))) {
    for (const request of task.attention?.requests ?? []) {
      const known = nearest.get(request.id);
      if (!known || known.task.startedAt < task.startedAt) nearest.set(request.id, { task, request });
    }
  }
  return [...nearest.values()].sort((a, b) => a.request.since.localeCompare(b.request.since));
};

/** A task in a list. */
export interface Row {
  task: PanelTask;
  /** How many tasks of the list are above it. */
  depth: number;
  /** The request of its own that a person has to answer; absent when that of a task below it holds it up. */
  request?: OpenUserRequest;
}

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
