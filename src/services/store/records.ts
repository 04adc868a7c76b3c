import type { NoticePrompt } from "../../machines/outbox/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";
import type { Task } from "../../task.ts";

/** One event that a task's machine accepted, in the order of acceptance. */
export interface JournalEntry {
  taskId: string;
  event: TaskEvent;
}

/** A task as it stands after a change: what people see, and the snapshot that the machine goes on from. */
export interface TaskRecord {
  task: Task;
  snapshot: StoredSnapshot;
}

/** The prompts that are on their way to a parent: formed, and not acknowledged. */
export interface PendingPrompts {
  parentSessionID: string;
  prompts: NoticePrompt[];
}

/** Everything that one round of events changed. Stored together or not at all. */
export interface Change {
  records: TaskRecord[];
  journal: JournalEntry[];
  /** Each list takes the place of the one that was stored for that parent. */
  prompts: PendingPrompts[];
}

/** A launch whose session is being made: should it be cut off, that session is found by this and removed. */
export interface PendingLaunch {
  /** The launch key: id of the task's first prompt, kept in the session's metadata too. */
  messageID: string;
  parentSessionID: string;
  /** Epoch milliseconds. */
  at: number;
  fork: boolean;
}

/** What was left behind by processes that are gone. */
export interface AbandonedWork {
  tasks: TaskRecord[];
  prompts: PendingPrompts[];
  launches: PendingLaunch[];
}

/** Which tasks are meant: those that fit everything that is given. */
export interface TaskFilter {
  parentSessionID?: string;
  /** The nearest task above: its own session launched, or one below it that is no task. */
  parentTaskId?: string;
}

/** Which ended tasks stay; without a bound, all do. */
export interface Retention {
  /** Days since a task's end. */
  days?: number | undefined;
  /** The newest so many. */
  count?: number | undefined;
}

export const matches = (task: Task, filter: TaskFilter): boolean =>
  (filter.parentSessionID === undefined || task.parentSessionID === filter.parentSessionID) &&
  (filter.parentTaskId === undefined || task.parentTaskId === filter.parentTaskId);
