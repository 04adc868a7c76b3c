import type { NoticePrompt } from "../../machines/outbox/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";
import type { Task } from "../../task.ts";

/** One event that a task's machine accepted. A journal lists them in the order of acceptance. */
export interface JournalEntry {
  taskId: string;
  event: TaskEvent;
}

/** A task at one moment: what people see, and the snapshot from which the machine goes on. */
export interface TaskRecord {
  task: Task;
  snapshot: StoredSnapshot;
}

/** The notice prompts on their way to one parent: composed, and not acknowledged yet. */
export interface PendingPrompts {
  parentSessionID: string;
  prompts: NoticePrompt[];
}

/** Everything that one round of events changed. Stored in one transaction: all of it or nothing. */
export interface Change {
  records: TaskRecord[];
  journal: JournalEntry[];
  /** Each list replaces the stored one of its parent. */
  prompts: PendingPrompts[];
}

/** A launch whose session is being created. After a crash, the session is found by this and deleted. */
export interface PendingLaunch {
  /** The launch key: the id of the task's first prompt, also kept in the session's metadata. */
  messageID: string;
  parentSessionID: string;
  /** Epoch milliseconds. */
  at: number;
  fork: boolean;
}

/** Work of processes that have ended or died, for another process to take over. */
export interface AbandonedWork {
  tasks: TaskRecord[];
  prompts: PendingPrompts[];
  launches: PendingLaunch[];
}

/** Selects tasks. A task must match every field that is given. */
export interface TaskFilter {
  parentSessionID?: string;
  /** The nearest task above: the one whose session, or a session below it that is no task, launched this one. */
  parentTaskId?: string;
}

/** Which ended tasks are kept; without either bound, all of them. */
export interface Retention {
  /** Keeps tasks for this many days after their end. */
  days?: number | undefined;
  /** Keeps at most this many, the newest. */
  count?: number | undefined;
}

/** True when the task matches the filter. */
export const matches = (task: Task, filter: TaskFilter): boolean =>
  (filter.parentSessionID === undefined || task.parentSessionID === filter.parentSessionID) &&
  (filter.parentTaskId === undefined || task.parentTaskId === filter.parentTaskId);
