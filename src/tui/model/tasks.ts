import type { ApiTask } from "../../client/api-types.ts";
import { onServer } from "../../services/text/model-and-server.ts";
import { sharedFiles } from "../../services/text/overlap-text.ts";
import { type Asked, requestsIn } from "../../services/text/task-counts.ts";
import { doingOf, endOf, isQueued, ordinal } from "../../services/text/task-state.ts";
import { hasEnded, missedIn } from "../../task.ts";
import type { OpenUserRequest } from "../../user-request.ts";
import type { Tone } from "./line.ts";

type TasksById = ReadonlyMap<string, ApiTask>;

/** Returns the parent of a session, as the host knows it; undefined where there is none, or it is not known. */
type HostParent = (sessionID: string) => string | undefined;

/** Generations of sessions at most: a damaged file could otherwise make a circle of them. */
const MAX_DEPTH = 50;

/**
 * Returns the session in which a person began what goes on in a session: that of the task's parent, and so on upwards. A
 * fork has no parent in the host; its task knows it.
 */
export const conversationOf = (sessionID: string, tasks: TasksById, hostParent: HostParent): string => {
  let root = sessionID;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const parent = tasks.get(root)?.parentSessionID ?? hostParent(root);
    if (parent === undefined) break;
    root = parent;
  }
  return root;
};

/** Returns the tasks of a conversation at any depth, in the order of their launch. */
export const tasksOf = (conversation: string, tasks: TasksById, hostParent: HostParent): ApiTask[] =>
  [...tasks.values()]
    .filter(({ sessionID }) => conversationOf(sessionID, tasks, hostParent) === conversation)
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt) || a.sessionID.localeCompare(b.sessionID));

/**
 * Adds the tasks of a conversation that ended long ago to those of the feed, which are newer where both have one.
 * `cleared` are the ids of those that are gone by now.
 */
export const withEarlier = (heard: TasksById, earlier: readonly ApiTask[], cleared: ReadonlySet<string>): TasksById => {
  const kept = earlier.filter(({ sessionID }) => !cleared.has(sessionID));
  return new Map([...kept.map((task) => [task.sessionID, task] as const), ...heard]);
};

/** A request of a task, and the task. */
export type AskedRequest = Asked<ApiTask>;

/** Returns the open requests of tasks, each once, oldest first. */
export const openRequests = (tasks: readonly ApiTask[]): AskedRequest[] =>
  requestsIn(tasks).sort((a, b) => a.request.since.localeCompare(b.request.since));

export interface Row {
  task: ApiTask;
  /** How many of its ancestors are in the list. */
  depth: number;
  /** The request of its own that a person has to answer; absent when that of a subtask blocks it. */
  request?: OpenUserRequest;
}

const newestFirst = (a: ApiTask, b: ApiTask): number =>
  (b.completedAt ?? b.startedAt).localeCompare(a.completedAt ?? a.startedAt) || a.sessionID.localeCompare(b.sessionID);

/**
 * Orders the tasks of a conversation as a person looks at them: those that wait for the person first, wherever they are;
 * then those that run, each followed by its own tasks; then those that wait for a slot, in the order of the queue; then
 * those that have ended, newest first.
 */
export const rowsOf = (tasks: readonly ApiTask[]): Row[] => {
  const asking = new Map<string, Row>();
  for (const { task, request } of openRequests(tasks)) {
    if (!asking.has(task.sessionID)) asking.set(task.sessionID, { task, depth: 0, request });
  }
  const running = tasks.filter((task) => !hasEnded(task) && !asking.has(task.sessionID));
  const isListed = new Set(running.map(({ sessionID }) => sessionID));
  const parentOf = ({ parentTaskId }: ApiTask) =>
    parentTaskId !== undefined && isListed.has(parentTaskId) ? parentTaskId : undefined;
  const children = Map.groupBy(running, parentOf);

  const inQueue = (a: ApiTask, b: ApiTask): number =>
    Number(isQueued(a)) - Number(isQueued(b)) || (a.queue?.place ?? 0) - (b.queue?.place ?? 0);
  const branch = (parent: string | undefined, depth: number): Row[] =>
    (children.get(parent) ?? [])
      .toSorted(inQueue)
      .flatMap((task) => [{ task, depth }, ...branch(task.sessionID, depth + 1)]);

  const ended = tasks.filter(hasEnded).toSorted(newestFirst);
  return [...asking.values(), ...branch(undefined, 0), ...ended.map((task) => ({ task, depth: 0 }))];
};

/** The status of a row: its sign, its colour, and a few words. */
interface RowStatus {
  sign: string;
  tone: Tone;
  words: string;
}

const liveStatusOf = ({ task, request }: Row): RowStatus => {
  if (request) return { sign: "▲", tone: "warning", words: `asks: ${request.what}` };
  const words = doingOf(task);
  const waitsFor = task.waiting?.for ?? "agent";
  if (isQueued(task)) {
    const place = waitsFor === "slot" ? task.queue?.place : undefined;
    return { sign: "○", tone: "muted", words: place === undefined ? words : `${ordinal(place)} in the queue` };
  }
  if (waitsFor === "agent") {
    if (task.attention?.kind === "stale") return { sign: "●", tone: "warning", words: "silent" };
    const shared = sharedFiles(task.progress.overlaps);
    if (shared !== undefined) return { sign: "●", tone: "warning", words: shared };
    const tool = task.progress.lastTools.at(-1);
    return { sign: "●", tone: "accent", words: [tool, onServer(task)].filter(Boolean).join(" ") || words };
  }
  if (waitsFor === "provider") return { sign: "●", tone: "warning", words };
  return { sign: "●", tone: waitsFor === "person" || waitsFor === "tasks" ? "accent" : "muted", words };
};

const ENDED: Record<"completed" | "error" | "cancelled", Omit<RowStatus, "words">> = {
  completed: { sign: "✓", tone: "success" },
  error: { sign: "✗", tone: "error" },
  cancelled: { sign: "⊘", tone: "muted" },
};

/** Returns the status of a row. For one that has failed, or whose result is not known to be whole, the words are the reason; before it comes how many instructions it missed. */
export const rowStatusOf = (row: Row): RowStatus => {
  const { task } = row;
  if (!hasEnded(task)) return liveStatusOf(row);
  const status = { ...ENDED[task.status as keyof typeof ENDED], words: endOf(task) };
  const isLacking = (task.status === "completed" && task.incomplete) || missedIn(task).length > 0;
  return isLacking && task.status !== "error" ? { ...status, tone: "warning" } : status;
};
