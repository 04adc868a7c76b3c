import type { TaskEvent } from "../../machines/task-events.ts";
import { hasEnded, type Task } from "../../task.ts";
import { createMemoryHistory } from "./memory-history.ts";
import { matches, type Retention, type Store, type TaskFilter, type TaskRecord } from "./store.ts";

const DAY = 86_400_000;

/** Task ids by a key that some have. */
const createIndex = () => {
  const ids = new Map<string, Set<string>>();
  return {
    add: (key: string | undefined, id: string) => {
      if (key !== undefined) ids.set(key, (ids.get(key) ?? new Set()).add(id));
    },
    remove: (key: string | undefined, id: string) => {
      if (key === undefined) return;
      ids.get(key)?.delete(id);
      if (ids.get(key)?.size === 0) ids.delete(key);
    },
    /** Undefined where there is no key. */
    of: (key: string | undefined): Iterable<string> | undefined =>
      key === undefined ? undefined : (ids.get(key) ?? []),
  };
};

/** Keeps tasks for as long as the process lives, for it alone. */
export const createMemoryStore = (): Store => {
  const records = new Map<string, TaskRecord>();
  const journals = new Map<string, TaskEvent[]>();
  /** Most questions are one parent's. */
  const byParent = createIndex();
  const byLead = createIndex();
  const { changed, removed, ...history } = createMemoryHistory((taskId) => records.get(taskId));

  const tasksOf = ({ parentSessionID, parentTaskId }: TaskFilter): Task[] => {
    const ids = byParent.of(parentSessionID) ?? byLead.of(parentTaskId) ?? records.keys();
    return [...ids].flatMap((id) => records.get(id)?.task ?? []);
  };

  const remove = (taskIds: string[]) => {
    for (const taskId of taskIds) {
      const task = records.get(taskId)?.task;
      byParent.remove(task?.parentSessionID, taskId);
      byLead.remove(task?.parentTaskId, taskId);
      records.delete(taskId);
      journals.delete(taskId);
      removed(taskId);
    }
  };

  const outdated = ({ days = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }: Retention, now: number) =>
    tasksOf({})
      .filter((task) => hasEnded(task) && records.get(task.sessionID)?.snapshot.value.notice === "none")
      .sort((a, b) => (a.completedAt ?? "").localeCompare(b.completedAt ?? ""))
      .reverse()
      .filter(({ completedAt }, index) => index >= count || now - Date.parse(completedAt ?? "") > days * DAY);

  return {
    ...history,
    commit: (change) => {
      for (const record of change.records) {
        const { sessionID, parentSessionID, parentTaskId } = record.task;
        records.set(sessionID, record);
        byParent.add(parentSessionID, sessionID);
        byLead.add(parentTaskId, sessionID);
        changed(record);
      }
      for (const { taskId, event } of change.journal) {
        const journal = journals.get(taskId);
        if (journal) journal.push(event);
        else journals.set(taskId, [event]);
      }
      return [];
    },
    get: (taskId) => records.get(taskId),
    list: (filter) => tasksOf(filter).filter((task) => matches(task, filter)),
    journal: (taskId) => journals.get(taskId) ?? [],
    remove,
    noteProgress: (counted) => {
      for (const [taskId, progress] of counted) {
        const record = records.get(taskId);
        if (!record) continue;
        const counting = { ...record, task: { ...record.task, progress } };
        records.set(taskId, counting);
        changed(counting);
      }
    },
    sweep: (retention, now) => {
      const gone = outdated(retention, now).map(({ sessionID }) => sessionID);
      remove(gone);
      return gone.length;
    },
    isElsewhere: () => false,
    claim: (taskId) => records.has(taskId),
    letGo: () => undefined,
    beginLaunch: () => undefined,
    endLaunch: () => undefined,
    beat: () => [],
    adopt: () => ({ tasks: [], prompts: [], launches: [] }),
    close: () => undefined,
  };
};
