// ADR-066 in docs/decisions.md
import type { TaskEvent } from "../../machines/task/events.ts";
import type { Progress, Task } from "../../task.ts";
import type { AbandonedWork, Change, PendingLaunch, Retention, TaskFilter, TaskRecord } from "./records.ts";
import type { TaskHistory } from "./task-history.ts";

/**
 * Keeps tasks until they are cleared. Many processes may share one store: a task that is not at rest is owned by the
 * process that supervises it, as long as that process shows that it is alive.
 */
export interface Store extends TaskHistory {
  /**
   * Stores a change. A task that is at rest after it has no owner any more.
   * Returns the tasks that another process has taken over or removed: nothing is stored of those.
   */
  commit(change: Change): string[];
  get(taskId: string): TaskRecord | undefined;
  /** Returns the matching tasks in the order of their launch. */
  list(filter: TaskFilter): Task[];
  /** Returns a task's events, oldest first. */
  journal(taskId: string): TaskEvent[];
  /** Deletes tasks with their journals, even if another process owns them. */
  remove(taskIds: string[]): void;
  /** Stores the latest progress by task. Tasks owned by other processes are left alone. */
  storeProgress(counted: ReadonlyMap<string, Progress>): void;
  /**
   * Deletes some of the directory's tasks at rest that `retention` does not keep, and returns how many: 0 when none is
   * left to delete. `now` is epoch milliseconds.
   */
  sweep(retention: Retention, now: number): number;

  /** True when another process supervises the task. */
  isOwnedElsewhere(taskId: string): boolean;
  /** True when a living process could act on the task: it supervises the task, or has the task's directory open. */
  isAttended(taskId: string): boolean;
  /** Takes ownership of a task at rest. False when another process owns it, or it does not exist. */
  claim(taskId: string): boolean;
  /** Gives up ownership of a claimed task to which nothing happened. */
  release(taskId: string): void;

  beginLaunch(launch: PendingLaunch): void;
  /** Ends a launch that failed, or whose task is stored. */
  endLaunch(messageID: string): void;

  /** Shows that this process is alive. Returns the tasks it has lost to others meanwhile. `now` is epoch milliseconds. */
  heartbeat(now: number): string[];
  /**
   * Takes over the work of dead processes: in this owner's directory, with the same OpenCode database, and of the
   * parents for which `wants` returns true. `now` is epoch milliseconds.
   */
  adopt(now: number, wants: (parentSessionID: string) => boolean): AbandonedWork;
  /** Frees everything this process owns, at once. Nothing is stored after that. */
  close(): void;
}
