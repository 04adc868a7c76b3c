import { hasEnded, type Task } from "../../src/task.ts";

/** True when both are of one batch: batch ids are unique within their parent only. */
export const isOfBatch = (one: Task, other: Task): boolean =>
  one.parentSessionID === other.parentSessionID && one.batchId === other.batchId;

/** True when no end of the task is worth waiting for: it has come, or waits for a person, or will perhaps never come. */
export const isQuiet = (task: Task): boolean => hasEnded(task) || task.attention !== undefined;

/** True when nothing of the task's batch is at work: what is owed of it has nothing to wait for. */
export const isOwedForNothing = (task: Task, stored: readonly Task[]): boolean =>
  stored.every((other) => !isOfBatch(other, task) || hasEnded(other));
