import type { TaskEvent } from "../../machines/task-events.ts";
import { hasEnded, type Task } from "../../task.ts";
import { createMemoryHistory } from "./memory-history.ts";
import { matches, type Retention, type Store, type TaskRecord } from "./store.ts";

const DAY = 86_400_000;

/** Keeps tasks for as long as the process lives, for it alone. */
export const createMemoryStore = (): Store => {
  const records = new Map<string, TaskRecord>();
  const journals = new Map<string, TaskEvent[]>();
  /** Task ids by parent session: most questions are one parent's. */
  const byParent = new Map<string, Set<string>>();
  const { changed, removed, ...history } = createMemoryHistory((taskId) => records.get(taskId));

  const tasksOf = (parentSessionID: string | undefined): Task[] => {
    const ids = parentSessionID === undefined ? records.keys() : (byParent.get(parentSessionID) ?? []);
    return [...ids].flatMap((id) => records.get(id)?.task ?? []);
  };

  const remove = (taskIds: string[]) => {
    for (const taskId of taskIds) {
      const parent = records.get(taskId)?.task.parentSessionID ?? "";
      const siblings = byParent.get(parent);
      siblings?.delete(taskId);
      if (siblings?.size === 0) byParent.delete(parent);
      records.delete(taskId);
      journals.delete(taskId);
      removed(taskId);
    }
  };

  const outdated = ({ days = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }: Retention, now: number) =>
    tasksOf(undefined)
      .filter((task) => hasEnded(task) && records.get(task.sessionID)?.snapshot.value.notice === "none")
      .sort((a, b) => (a.completedAt ?? "").localeCompare(b.completedAt ?? ""))
      .reverse()
      .filter(({ completedAt }, index) => index >= count || now - Date.parse(completedAt ?? "") > days * DAY);

  return {
    ...history,
    commit: (change) => {
      for (const record of change.records) {
        const { sessionID, parentSessionID } = record.task;
        records.set(sessionID, record);
        byParent.set(parentSessionID, (byParent.get(parentSessionID) ?? new Set()).add(sessionID));
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
    list: (filter) => tasksOf(filter.parentSessionID).filter((task) => matches(task, filter)),
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
