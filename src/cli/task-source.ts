import type { ApiFailure, ApiResult, ApiTask, TaskListQuery } from "../client/api-types.ts";
import { createStatusApiClient, type StatusApiClient } from "../client/status-api-client.ts";
import { statePaths } from "../machines/chart.ts";
import { allowedEvents } from "../machines/task/machine.ts";
import { toTask } from "../machines/task/view.ts";
import { systemClock } from "../services/platform/clock.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import type { JournalReader } from "../services/store/sqlite/journal-reader.ts";
import { readFiles } from "../services/worktrees/fingerprints.ts";
import { worktreesFolder } from "../services/worktrees/folders.ts";
import { createGateComparison } from "../services/worktrees/gate-comparison.ts";
import { addUp, hasEnded, type Usage } from "../task.ts";
import { CommandError, EXIT } from "./command.ts";
import { findStoredTask, hasTaskDatabase, withJournals } from "./task-database.ts";
import type { Terminal } from "./terminal.ts";

// Tasks are read from the running OpenCode, and from its file only where none runs. The file alone would not do: who waits for
// a person, for a slot or for a provider is known to OpenCode alone, its tasks are in memory while the file cannot be written,
// and a file of another version cannot be read.

/** Returns the client of the status API for a data folder; by default the plugin's own. */
export const openClient = (folder = dataFolder()): StatusApiClient => createStatusApiClient(folder);

/** Returns the error to show for a call that failed. */
const failureOf = ({ kind, reason }: ApiFailure): CommandError => {
  const elsewhere = kind === "notRunning" ? " Use --data if its data are in another folder." : "";
  const isReached = kind === "refused" || kind === "unreadable";
  return new CommandError(toSingleLine(reason + elsewhere), isReached ? EXIT.failed : EXIT.unreachable);
};

/**
 * Returns the value of a call of the status API.
 * @throws CommandError with the reason when it failed
 */
export const received = <T>(result: ApiResult<T>): T => {
  if (result.ok) return result.value;
  throw failureOf(result);
};

/** Requests all tasks that match and have not ended. */
const requestLiveTasks = async (client: StatusApiClient, query: TaskListQuery = {}): Promise<ApiResult<ApiTask[]>> => {
  const running = await client.allTasks({ ...query, status: "running" });
  if (!running.ok) return running;
  const resumed = await client.allTasks({ ...query, status: "resumed" });
  return resumed.ok ? { ok: true, value: [...running.value, ...resumed.value] } : resumed;
};

/**
 * Returns all tasks that have not ended, newest first.
 * @throws CommandError when OpenCode cannot be asked
 */
export const liveTasks = async (client: StatusApiClient): Promise<ApiTask[]> =>
  received(await requestLiveTasks(client)).sort((one, other) => other.startedAt.localeCompare(one.startedAt));

/** Where tasks are read from: a data folder (undefined: the plugin's own); and where it is said that it was the file. */
export interface Source {
  data: string | undefined;
  terminal: Terminal;
}

/**
 * Reads from the running OpenCode; where none runs, from the task database, and says so beside the output.
 * @throws CommandError when neither can be read
 */
const read = async <T>(
  { data, terminal }: Source,
  live: (client: StatusApiClient) => Promise<ApiResult<T>>,
  stored: (journals: JournalReader) => T,
): Promise<{ value: T; isLive: boolean }> => {
  const client = openClient(data);
  const result = await live(client);
  if (result.ok) {
    const server = await client.server();
    if (server.ok && server.value.versionDifference !== undefined) terminal.note(server.value.versionDifference);
    return { value: result.value, isLive: true };
  }
  // Where there is no file either, OpenCode is what is missing.
  if (result.kind !== "notRunning" || !hasTaskDatabase(data)) throw failureOf(result);
  const value = await withJournals(data, stored);
  terminal.note("OpenCode is not running: read from the task database. Tasks under way go on when it is opened.");
  return { value, isLive: false };
};

/** Returns a stored task in the form of the API, without what only the running OpenCode knows. */
const storedTask = (journals: JournalReader, id: string): ApiTask | undefined => {
  const stored = journals.task(id);
  if (!stored) return undefined;
  const { snapshot, progress, usage, childTaskIds } = stored;
  const { attention: _, waiting: __, ...task } = toTask(snapshot, progress);
  return { ...task, childTaskIds, usage, states: statePaths(snapshot.value), allowed: allowedEvents(snapshot) };
};

/**
 * Reads the task with that id, or with an id that begins so.
 * @throws CommandError if no task or several match; it lists them, or the newest tasks.
 */
export const readTask = async (id: string, source: Source): Promise<{ task: ApiTask; isLive: boolean }> => {
  const { value, isLive } = await read(
    source,
    (client) => client.task(id),
    (journals) => {
      const found = findStoredTask(journals, id);
      const stored = storedTask(journals, found.id);
      if (!stored) throw new CommandError(`Task ${found.id} has just been cleared.`);
      return stored;
    },
  );
  if (isLive) return { task: value, isLive };
  const root = worktreesFolder(source.data ?? dataFolder());
  const compareGate = createGateComparison((directory) => readFiles(root, directory), systemClock);
  return { task: await compareGate(value), isLive };
};

const matches = (task: ApiTask, { search, ...query }: TaskListQuery): boolean => {
  const { status, agent, directory, parentSessionID: parent, batchId: batch } = task;
  const own: TaskListQuery = { status, agent, directory, parent, batch };
  const isAsked = (name: keyof typeof query) => query[name] === undefined || query[name] === own[name];
  const text = `${task.description}\n${task.prompt}\n${task.result ?? ""}`.toLowerCase();
  return (Object.keys(own) as (keyof typeof query)[]).every(isAsked) && text.includes(search?.toLowerCase() ?? "");
};

/** Returns the stored tasks that match: all that have not ended, and those launched last, `most` in all, newest first. */
const storedTasks = (journals: JournalReader, query: TaskListQuery, most: number): ApiTask[] => {
  const found: ApiTask[] = [];
  for (const { id, status } of journals.newest(Number.MAX_SAFE_INTEGER)) {
    if (found.length >= most && hasEnded({ status })) continue;
    const task = storedTask(journals, id);
    if (task && matches(task, query)) found.push(task);
  }
  return found;
};

/** Requests the same of the running OpenCode. */
const requestTasks = async (
  client: StatusApiClient,
  query: TaskListQuery,
  most: number,
): Promise<ApiResult<ApiTask[]>> => {
  const newest = await client.allTasks(query, most);
  if (!newest.ok || query.status !== undefined) return newest;
  // A task that still runs is shown however long ago it was launched.
  const live = await requestLiveTasks(client, query);
  if (!live.ok) return live;
  const tasks = new Map(live.value.map((task) => [task.sessionID, task]));
  for (const task of newest.value) if (tasks.size < most || !hasEnded(task)) tasks.set(task.sessionID, task);
  return { ok: true, value: [...tasks.values()] };
};

/** Returns what some tasks used: of their own runs, so that a task that another one launched counts once. */
export const ownUsage = (tasks: readonly ApiTask[]): Usage => addUp(tasks.map(({ progress }) => progress));

/** Returns what some tasks used with all their descendants. One that another of them launched counts with that one. */
const usageWithDescendants = (tasks: readonly ApiTask[]): Usage => {
  const ids = new Set(tasks.map(({ sessionID }) => sessionID));
  return addUp(tasks.flatMap(({ parentTaskId, usage }) => (ids.has(parentTaskId ?? "") ? [] : usage)));
};

/**
 * Reads the tasks that match: all that have not ended, and those launched last, `most` in all; and what they used. Of a
 * session or a batch (`isGroup`), that is what all of its tasks used.
 */
export const readTasks = async (query: TaskListQuery, most: number, source: Source) => {
  const { parent, batch } = query;
  const isGroup = parent !== undefined || batch !== undefined;
  const { value } = await read<{ tasks: ApiTask[]; usage: Usage }>(
    source,
    async (client) => {
      const tasks = await requestTasks(client, query, most);
      if (!tasks.ok) return tasks;
      const usage = isGroup ? await client.groupUsage(query) : { ok: true as const, value: ownUsage(tasks.value) };
      return usage.ok ? { ok: true, value: { tasks: tasks.value, usage: usage.value } } : usage;
    },
    (journals) => {
      const tasks = storedTasks(journals, query, most);
      if (!isGroup) return { tasks, usage: ownUsage(tasks) };
      return { tasks, usage: usageWithDescendants(storedTasks(journals, { parent, batch }, Number.POSITIVE_INFINITY)) };
    },
  );
  return { ...value, isGroup };
};

/** Reads the tasks that have not ended. */
export const readLiveTasks = async (source: Source): Promise<ApiTask[]> => {
  const { value } = await read(
    source,
    (client) => requestLiveTasks(client),
    (journals) => storedTasks(journals, {}, 0),
  );
  return value;
};
