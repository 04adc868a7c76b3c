import type { ServerSentEvent } from "../src/client/server-sent-events.ts";
import type { ApiTask } from "../src/services/http/contract/api-task.ts";
import type { Stats } from "../src/services/http/contract/schemas.ts";
import { type Asked, requestsIn } from "../src/services/text/task-counts.ts";
import { readPage, readStats } from "./api.ts";
import { type Connection, followEvents } from "./event-stream.ts";
import { apiParameters, type Filters, isActive, isCompleteInSnapshot, matches } from "./filters.ts";
import { type ListedTask, toListed } from "./listed-task.ts";

/** Tasks on a page: the most that the API returns at once. */
const PAGE_TASKS = 200;

/** Tasks that are listed again at most when the connection is back: ten pages. Further ones are loaded when they are scrolled to. */
const MAX_RELOADED = 2_000;

/** Milliseconds between changes of a hidden page, which has no frames, but a title. */
const HIDDEN_MS = 250;

/** Milliseconds for which changes are gathered before the counts are read again. */
const STATS_AFTER_MS = 1_000;

/** What the board shows at a moment. A new object after each change. */
export interface BoardState {
  connection: Connection;
  /** The tasks that match, newest first, as far as they are loaded. */
  tasks: ListedTask[];
  /** How many tasks match in all. */
  total: number;
  isLoading: boolean;
  /** Why the tasks could not be loaded; empty when they were. */
  problem: string;
  stats: Stats | undefined;
  /** Tasks that have not ended. */
  active: ListedTask[];
  /** The requests that wait for a person's answer, each with the task that asks. */
  waiting: Asked<ListedTask>[];
}

/** The tasks of the server, kept up to date by its events. */
export interface TaskBoard {
  state(): BoardState;
  /** Calls the listener after each change; returns a function that removes it. */
  subscribe(listener: () => void): () => void;
  /** Shows other tasks. */
  filter(filters: Filters): void;
  /** Loads the next page, unless all that match are there. */
  loadMore(): void;
  /** Returns what is known of a task, shown or not. */
  find(id: string): ListedTask | undefined;
  /** Calls the listener with each task that changes, and with undefined for one that was cleared. */
  onTask(listener: (id: string, task: ApiTask | undefined) => void): () => void;
  /** Connects again, with the token that the page has by then. */
  reconnect(): void;
}

const newestFirst = (one: ListedTask, other: ListedTask): number => other.startedAt.localeCompare(one.startedAt);

/** Creates the board's tasks, and begins to follow the server's events. */
export const createTaskBoard = (initial: Filters): TaskBoard => {
  /** All tasks that the page has heard of. */
  const known = new Map<string, ListedTask>();
  /** Ids of the tasks that match, in the order of the API, which makes their number the offset of the next page. */
  let listed: string[] = [];
  /** Ids of the tasks that events have named since the last reading began: what an event says is newer than what is read. */
  const named = new Set<string>();
  let filters = initial;
  let total = 0;
  let isLoading = false;
  let problem = "";
  let connection: Connection = "connecting";
  let stats: Stats | undefined;
  let loading = new AbortController();
  let isStatsDue = false;
  let current: BoardState | undefined;
  let isScheduled = false;
  const listeners = new Set<() => void>();
  const taskListeners = new Set<(id: string, task: ApiTask | undefined) => void>();

  /** Calls the listeners once per frame, however many events come. */
  const changed = () => {
    current = undefined;
    if (isScheduled) return;
    isScheduled = true;
    const notify = () => {
      isScheduled = false;
      for (const listener of listeners) listener();
    };
    if (document.hidden) setTimeout(notify, HIDDEN_MS);
    else requestAnimationFrame(notify);
  };

  const tasksOf = (ids: readonly string[]): ListedTask[] => ids.flatMap((id) => known.get(id) ?? []);

  const state = (): BoardState => {
    if (current) return current;
    const active = [...known.values()].filter(isActive).sort(newestFirst);
    const isWhole = isCompleteInSnapshot(filters);
    const tasks = isWhole ? active.filter((task) => matches(task, filters)) : tasksOf(listed);
    const waiting = requestsIn(active);
    current = { connection, tasks, total: isWhole ? tasks.length : total, isLoading, problem, stats, active, waiting };
    return current;
  };

  const isAllLoaded = () => listed.length >= total;

  const readFrom = async (offset: number, signal: AbortSignal) => {
    const parameters = apiParameters(filters);
    parameters.set("limit", String(PAGE_TASKS));
    parameters.set("offset", String(offset));
    const page = await readPage(parameters, signal);
    for (const task of page.tasks) if (!named.has(task.sessionID)) known.set(task.sessionID, toListed(task));
    // One that was cleared in the meantime is not known.
    return { total: page.total, ids: page.tasks.map(({ sessionID }) => sessionID).filter((id) => known.has(id)) };
  };

  /** Reads from the first task on as many as are listed, so that nobody loses the place. Until then the old ones are shown. */
  const readAnew = async (signal: AbortSignal) => {
    const wanted = Math.min(listed.length, MAX_RELOADED);
    const ids = new Set<string>();
    let total = Number.POSITIVE_INFINITY;
    for (;;) {
      const before = ids.size;
      const page = await readFrom(before, signal);
      for (const id of page.ids) ids.add(id);
      // One that was launched between two pages is counted when its event comes.
      total = Math.min(total, page.total);
      if (ids.size >= wanted || ids.size === before) return { total, ids: [...ids] };
    }
  };

  const load = async (isFirst: boolean) => {
    if (isCompleteInSnapshot(filters)) return changed();
    if (isFirst) loading.abort();
    else if (isLoading || isAllLoaded()) return;
    const own = new AbortController();
    loading = own;
    named.clear();
    isLoading = true;
    changed();
    try {
      const read = isFirst ? await readAnew(own.signal) : await readFrom(listed.length, own.signal);
      listed = isFirst ? read.ids : [...new Set([...listed, ...read.ids])];
      const counted = isFirst ? read.total : Math.min(total, read.total);
      total = counted;
      for (const id of named) {
        const task = known.get(id);
        if (task) list(task);
      }
      // The server counted before the last events, or after them.
      total = Math.max(counted, listed.length);
      problem = "";
    } catch (error) {
      if (own.signal.aborted) return;
      problem = error instanceof Error ? error.message : String(error);
    }
    isLoading = false;
    changed();
  };

  const refreshStats = () => {
    if (isStatsDue) return;
    isStatsDue = true;
    setTimeout(async () => {
      isStatsDue = false;
      // Counts that cannot be read stay as they are; that the connection is lost is shown by itself.
      stats = await readStats().catch(() => stats);
      changed();
    }, STATS_AFTER_MS);
  };

  /** Lists a task where the API would: before the first one that was launched earlier. */
  const list = (task: ListedTask) => {
    const isListed = listed.includes(task.sessionID);
    if (!matches(task, filters)) {
      if (!isListed) return;
      listed = listed.filter((id) => id !== task.sessionID);
      total -= 1;
      return;
    }
    if (isListed) return;
    const at = listed.findIndex((id) => (known.get(id)?.startedAt ?? "") <= task.startedAt);
    // One that belongs below all that are loaded comes with its page.
    if (at < 0 && !isAllLoaded()) return;
    listed = at < 0 ? [...listed, task.sessionID] : listed.toSpliced(at, 0, task.sessionID);
    total += 1;
  };

  const remove = (id: string) => {
    known.delete(id);
    if (listed.includes(id)) {
      listed = listed.filter((other) => other !== id);
      total -= 1;
    }
  };

  const onEvent = ({ name, data }: ServerSentEvent) => {
    if (name === "heartbeat") return;
    const content = JSON.parse(data);
    if (name === "snapshot") {
      // Whatever happened before it may have been missed. What is listed is shown until it is read again.
      const shown = new Set(listed);
      for (const id of known.keys()) if (!shown.has(id)) known.delete(id);
      for (const task of content.tasks as ApiTask[]) known.set(task.sessionID, toListed(task));
      stats = content.stats;
      for (const task of content.tasks as ApiTask[])
        for (const listener of taskListeners) listener(task.sessionID, task);
      void load(true);
    } else if (name === "task.removed") {
      named.add(content.sessionID);
      remove(content.sessionID);
      for (const listener of taskListeners) listener(content.sessionID, undefined);
      refreshStats();
    } else if (name.startsWith("task.")) {
      const task = toListed(content);
      named.add(task.sessionID);
      known.set(task.sessionID, task);
      if (!isCompleteInSnapshot(filters)) list(task);
      for (const listener of taskListeners) listener(task.sessionID, content);
      refreshStats();
    }
    changed();
  };

  const reconnect = followEvents("/v1/events", onEvent, (now) => {
    connection = now;
    changed();
  });

  return {
    state,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    filter: (given) => {
      filters = given;
      listed = [];
      total = 0;
      void load(true);
    },
    loadMore: () => void load(false),
    find: (id) => known.get(id),
    onTask: (listener) => {
      taskListeners.add(listener);
      return () => void taskListeners.delete(listener);
    },
    reconnect,
  };
};
