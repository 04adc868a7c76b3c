import type { ApiTask, TaskListQuery } from "../client/api-types.ts";
import { statePaths } from "../machines/state-paths.ts";
import { allowedEvents } from "../machines/task/machine.ts";
import { toTask } from "../machines/task/view.ts";
import type { JournalReader } from "../services/store/sqlite/journal-reader.ts";
import { hasEnded } from "../task.ts";
import { CommandError } from "./command.ts";
import { findTask } from "./task-database.ts";

/** Which stored tasks to list: what is known without OpenCode. */
export type StoredQuery = Pick<TaskListQuery, "status" | "agent" | "directory" | "parent" | "batch" | "search">;

/**
 * Returns a stored task in the form of the API. What only the running OpenCode knows is left out: what it waits for, and
 * whether anybody still asks.
 */
const storedTask = (journals: JournalReader, id: string): ApiTask | undefined => {
  const stored = journals.task(id);
  if (!stored) return undefined;
  const { snapshot, progress, usage, childTaskIds } = stored;
  const { attention: _, waiting: __, ...task } = toTask(snapshot, progress);
  return { ...task, childTaskIds, usage, states: statePaths(snapshot.value), allowed: allowedEvents(snapshot) };
};

/** Returns the stored task with that id, or with an id that begins so. See `findTask` for the errors. */
export const readStoredTask = (journals: JournalReader, id: string): ApiTask => {
  const found = findTask(journals, id);
  const task = storedTask(journals, found.id);
  if (!task) throw new CommandError(`Task ${found.id} has just been cleared.`);
  return task;
};

const matches = (task: ApiTask, { status, agent, directory, parent, batch, search }: StoredQuery): boolean => {
  const isGiven = (wanted: string | undefined, value: string) => wanted === undefined || wanted === value;
  const words = search?.toLowerCase();
  return (
    isGiven(status, task.status) &&
    isGiven(agent, task.agent) &&
    isGiven(directory, task.directory) &&
    isGiven(parent, task.parentSessionID) &&
    isGiven(batch, task.batchId) &&
    (words === undefined || `${task.description}\n${task.prompt}\n${task.result ?? ""}`.toLowerCase().includes(words))
  );
};

/** Returns the stored tasks that match: all that have not ended, and those launched last, `most` in all, newest first. */
export const readStoredTasks = (journals: JournalReader, query: StoredQuery, most: number): ApiTask[] => {
  const found: ApiTask[] = [];
  for (const { id, status } of journals.newest(Number.MAX_SAFE_INTEGER)) {
    if (found.length >= most && hasEnded({ status })) continue;
    const task = storedTask(journals, id);
    if (task && matches(task, query)) found.push(task);
  }
  return found;
};
