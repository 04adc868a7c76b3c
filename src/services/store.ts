import type { StoredSnapshot } from "../machines/supervisor-events.ts";
import type { TaskEvent } from "../machines/task-events.ts";
import type { Task, TaskStatus } from "../task.ts";

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

/** Everything that one round of events changed. Stored together or not at all. */
export interface Change {
  records: TaskRecord[];
  journal: JournalEntry[];
}

/** Which tasks are meant: those that fit everything that is given. */
export interface TaskFilter {
  parentSessionID?: string;
  batchId?: string;
  status?: TaskStatus;
}

/** Where tasks are kept until they are cleared. */
export interface Store {
  commit(change: Change): void;
  get(taskId: string): TaskRecord | undefined;
  /** Tasks in the order of their launch. */
  list(filter: TaskFilter): Task[];
  journal(taskId: string): TaskEvent[];
  remove(taskIds: string[]): void;
}

const matches = (task: Task, filter: TaskFilter): boolean =>
  (filter.parentSessionID === undefined || task.parentSessionID === filter.parentSessionID) &&
  (filter.batchId === undefined || task.batchId === filter.batchId) &&
  (filter.status === undefined || task.status === filter.status);

/** Keeps tasks for as long as the process lives. */
export const createMemoryStore = (): Store => {
  const records = new Map<string, TaskRecord>();
  const journals = new Map<string, TaskEvent[]>();
  /** Task ids by parent session: most questions are one parent's. */
  const byParent = new Map<string, Set<string>>();

  const tasksOf = (parentSessionID: string | undefined): Task[] => {
    const ids = parentSessionID === undefined ? records.keys() : (byParent.get(parentSessionID) ?? []);
    return [...ids].flatMap((id) => records.get(id)?.task ?? []);
  };

  return {
    commit: (change) => {
      for (const record of change.records) {
        const { sessionID, parentSessionID } = record.task;
        records.set(sessionID, record);
        byParent.set(parentSessionID, (byParent.get(parentSessionID) ?? new Set()).add(sessionID));
      }
      for (const { taskId, event } of change.journal) {
        const journal = journals.get(taskId);
        if (journal) journal.push(event);
        else journals.set(taskId, [event]);
      }
    },
    get: (taskId) => records.get(taskId),
    list: (filter) => tasksOf(filter.parentSessionID).filter((task) => matches(task, filter)),
    journal: (taskId) => journals.get(taskId) ?? [],
    remove: (taskIds) => {
      for (const taskId of taskIds) {
        const parent = records.get(taskId)?.task.parentSessionID ?? "";
        const siblings = byParent.get(parent);
        siblings?.delete(taskId);
        if (siblings?.size === 0) byParent.delete(parent);
        records.delete(taskId);
        journals.delete(taskId);
      }
    },
  };
};
