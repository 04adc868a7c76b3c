import { hasEnded, type Task } from "../../task.ts";
import type { OpenUserRequest } from "../../user-request.ts";
import { isPaused, isQueued } from "./task-state.ts";

/** What counting needs to know of a task. */
type Counted = Pick<Task, "sessionID" | "status" | "startedAt" | "attention" | "waiting">;

/** A request that a person has to answer, and the task whose agent asks. */
export interface Asked<T> {
  task: T;
  request: OpenUserRequest;
}

/**
 * Returns the open requests of tasks that have not ended, each once, in the order of the tasks. A request also appears in the
 * ancestors of the task that asks; the newest of them is the nearest.
 */
export const requestsIn = <T extends Counted>(tasks: readonly T[]): Asked<T>[] => {
  const nearest = new Map<string, Asked<T>>();
  for (const task of tasks.filter((candidate) => !hasEnded(candidate))) {
    for (const request of task.attention?.requests ?? []) {
      const known = nearest.get(request.id);
      if (!known || known.task.startedAt < task.startedAt) nearest.set(request.id, { task, request });
    }
  }
  return [...nearest.values()];
};

/** How many tasks there are, by how they stand: each counts once, and the requests beside them. */
export interface TaskCounts {
  /** Requests that wait for a person's answer, each once. */
  requests: number;
  /** At work, or waiting for something that comes by itself. */
  running: number;
  /** Their own agent asks a person: what is above them counts as running. */
  asking: number;
  /** Waiting for a slot, or for a server of the fleet. */
  queued: number;
  /** Paused, by somebody or until their provider serves again. */
  paused: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** Counts tasks: the panel, the board, the command and the API show these numbers. */
export const countTasks = (tasks: readonly Counted[]): TaskCounts => {
  const asked = requestsIn(tasks);
  const asking = new Set(asked.map(({ task }) => task.sessionID));
  const live = tasks.filter((task) => !hasEnded(task) && !asking.has(task.sessionID));
  const count = (isMeant: (task: Counted) => boolean, among = tasks): number => among.filter(isMeant).length;
  const queued = count(isQueued, live);
  const paused = count(isPaused, live);
  return {
    ...{ requests: asked.length, asking: asking.size, queued, paused },
    running: live.length - queued - paused,
    completed: count(({ status }) => status === "completed"),
    failed: count(({ status }) => status === "error"),
    cancelled: count(({ status }) => status === "cancelled"),
  };
};

/** Writes how many requests wait for the person. */
export const waitsForYou = (requests: number): string => `${requests} ${requests === 1 ? "waits" : "wait"} for you`;

/** What is counted, in words, in the order in which it is shown. */
export const countWords = (counts: TaskCounts): { what: keyof TaskCounts; text: string }[] => {
  const all: { what: Exclude<keyof TaskCounts, "asking">; text: string }[] = [
    { what: "running", text: `${counts.running} running` },
    { what: "requests", text: waitsForYou(counts.requests) },
    { what: "failed", text: `${counts.failed} failed` },
    { what: "queued", text: `${counts.queued} queued` },
    { what: "paused", text: `${counts.paused} paused` },
    { what: "completed", text: `${counts.completed} completed` },
    { what: "cancelled", text: `${counts.cancelled} cancelled` },
  ];
  return all.filter(({ what }) => counts[what] > 0);
};
