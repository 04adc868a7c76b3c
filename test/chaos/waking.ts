import { isDeepStrictEqual } from "node:util";
import { hasEnded, type Task } from "../../src/task.ts";

/** An end that a notice tells of. */
export interface ToldEnd {
  task: Task;
  status: Task["status"] | undefined;
}

const isOfBatch = (one: Task, other: Task): boolean =>
  isDeepStrictEqual([one.parentSessionID, one.batchId], [other.parentSessionID, other.batchId]);

/** True for a task that was at work when the other one ended, and is still. */
const isWaitedFor = (task: Task, ended: Task): boolean =>
  !hasEnded(task) &&
  task.attention?.kind !== "stale" &&
  isOfBatch(task, ended) &&
  Date.parse(task.runStartedAt) < Date.parse(ended.completedAt ?? "");

/** True when some end of a notice was to wake the parent's agent: by itself, as an error, or as the last of its batch. */
export const wakes = (ends: readonly ToldEnd[], all: readonly Task[]): boolean =>
  ends.some(
    ({ task, status }) => task.wake !== "all" || status === "error" || !all.some((other) => isWaitedFor(other, task)),
  );

/** True when nothing of the task's batch is at work: what is owed of it has nothing to wait for. */
export const isOwedForNothing = (task: Task, stored: readonly Task[]): boolean =>
  stored.every((other) => !isOfBatch(other, task) || hasEnded(other));
