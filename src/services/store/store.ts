import type { TaskEvent } from "../../machines/task/events.ts";
import type { Progress, Task } from "../../task.ts";
import type { AbandonedWork, Change, PendingLaunch, Retention, TaskFilter, TaskRecord } from "./records.ts";
import type { TaskHistory } from "./task-history.ts";

/**
 * Where tasks are kept until they are cleared. One store may serve many processes: a task that is not at rest belongs to
 * the one that supervises it, for as long as that shows that it lives.
 */
export interface Store extends TaskHistory {
  /**
   * Stores a change. A task that is at rest after it belongs to nobody.
   * Returns the tasks that another process has taken over or removed: nothing of those is stored.
   */
  commit(change: Change): string[];
  get(taskId: string): TaskRecord | undefined;
  /** Tasks in the order of their launch. */
  list(filter: TaskFilter): Task[];
  /** A task's events, oldest first. */
  journal(taskId: string): TaskEvent[];
  /** Removes tasks for good, whoever they belong to. */
  remove(taskIds: string[]): void;
  /** What was counted since the last change, by task; those of other processes are left alone. */
  storeProgress(counted: ReadonlyMap<string, Progress>): void;
  /**
   * Removes some of the directory's ended tasks that are not to be kept, at rest only. Returns how many: 0 when none is
   * left to be removed. `now` is epoch milliseconds.
   */
  sweep(retention: Retention, now: number): number;

  /** True when another process supervises the task. */
  isOwnedElsewhere(taskId: string): boolean;
  /** False when no living process could do anything with the task: none supervises it, and none has its directory open. */
  isAttended(taskId: string): boolean;
  /** Takes a task that is at rest. False when another process has it, or nobody knows it. */
  claim(taskId: string): boolean;
  /** Gives back a claimed task to which nothing happened. */
  release(taskId: string): void;

  beginLaunch(launch: PendingLaunch): void;
  /** The launch led to a stored task, or to nothing. */
  endLaunch(messageID: string): void;

  /** Shows that this process lives. Returns the tasks that it has lost to another meanwhile. `now` is epoch milliseconds. */
  heartbeat(now: number): string[];
  /**
   * Takes over what processes left behind that are gone: in this owner's directory, with the same OpenCode's database,
   * and of those parents that `wants` names.
   */
  adopt(now: number, wants: (parentSessionID: string) => boolean): AbandonedWork;
  /** The process supervises nothing any more: what it has is free at once. Nothing is stored after that. */
  close(): void;
}
