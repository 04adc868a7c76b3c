import type { Task } from "../../task.ts";
import type { TaskFilter } from "../store/records.ts";
import type { Store } from "../store/store.ts";
import type { ProgressLog } from "./progress.ts";

/** Tasks as callers and people see them: what is stored, with the newest progress and the tasks that they launched. */
export interface TaskReader {
  get(taskId: string): Task | undefined;
  /** Tasks in the order of their launch. */
  list(filter: TaskFilter): Task[];
}

/** Creates a reader of all tasks of the store. */
export const createTaskReader = (store: Store, progress: ProgressLog): TaskReader => {
  const get = (taskId: string): Task | undefined => {
    const task = store.get(taskId)?.task;
    if (!task) return undefined;
    const childTaskIds = store.list({ parentTaskId: taskId }).map(({ sessionID }) => sessionID);
    return { ...task, progress: progress.of(taskId) ?? task.progress, childTaskIds };
  };
  return { get, list: (filter) => store.list(filter).flatMap(({ sessionID }) => get(sessionID) ?? []) };
};
