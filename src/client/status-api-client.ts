import { type ApiRequest, type NoAnswer, parseJson, send } from "../services/http/loopback-requests.ts";
import type { Usage } from "../task.ts";
import type { UserReply } from "../user-request.ts";
import { type ApiFailure, type ApiResult, apiFailure, refused } from "./api-result.ts";
import {
  type ApiFleet,
  type ApiTask,
  type Changes,
  isChanges,
  isFleet,
  isGroupPage,
  isLogs,
  isPage,
  isStats,
  isTask,
  type Logs,
  type Stats,
  type TaskListQuery,
} from "./api-types.ts";
import { type FoundServer, findServer } from "./find-server.ts";
import { type FeedEvent, type FeedTimes, followTasks } from "./follow-tasks.ts";

/**
 * The status API of the OpenCode that serves a data folder, whichever process that is at the moment: each call looks at
 * `server.json` again, so a client outlives any OpenCode. Nothing is open between calls.
 *
 * Every call resolves to a value or to a failure with a sentence for a person, and never throws. Nothing is sent twice: a
 * call that failed may be repeated by its caller, if it changes nothing. Ids may be shortened to an unambiguous beginning.
 */
export interface StatusApiClient {
  /** Finds the server, without asking it for anything else. */
  server(): Promise<ApiResult<FoundServer>>;
  stats(): Promise<ApiResult<Stats>>;
  /** The servers of the fleet, and the tasks that wait for them. */
  fleet(): Promise<ApiResult<ApiFleet>>;
  /**
   * All tasks that match, newest first, page by page; at most `most` of them. Tasks of another version that cannot be shown
   * are left out.
   */
  allTasks(query: Omit<TaskListQuery, "limit" | "offset">, most?: number): Promise<ApiResult<ApiTask[]>>;
  /** What all tasks of a session or a batch used with all their descendants. */
  groupUsage(group: Pick<TaskListQuery, "parent" | "batch">): Promise<ApiResult<Usage>>;
  /** A task, whole. */
  task(id: string): Promise<ApiResult<ApiTask>>;
  /** The messages of a task's conversation, complete. */
  logs(id: string): Promise<ApiResult<Logs>>;
  /** Stops a task. Resolves, as all calls that change one, to the task as it is after that. */
  cancel(id: string): Promise<ApiResult<ApiTask>>;
  /** Sends a completed task a follow-up prompt. */
  resume(id: string, prompt: string): Promise<ApiResult<ApiTask>>;
  /** Gives a running task a further instruction. */
  steer(id: string, prompt: string): Promise<ApiResult<ApiTask>>;
  /** Answers a permission or a question of a task. */
  answer(id: string, reply: UserReply): Promise<ApiResult<ApiTask>>;
  /** What an ended task left changed in its worktree. */
  changes(id: string): Promise<ApiResult<Changes>>;
  /** Takes that into the tree that the worktree was made from: all of it, or nothing. */
  apply(id: string): Promise<ApiResult<Changes>>;
  /** Removes the worktree with it. */
  discard(id: string): Promise<ApiResult<Changes>>;
  /**
   * Follows all tasks until `signal` is aborted, across lost connections and restarts: see `followTasks`.
   * @example
   * let known = NO_TASKS;
   * for await (const event of client.follow(signal)) show((known = afterEvent(known, event)));
   */
  follow(signal: AbortSignal, times?: Partial<FeedTimes>): AsyncIterable<FeedEvent>;
}

/** Milliseconds in which requests have to be answered. */
export interface Timeouts {
  /** Of those that read. Default: 10 s. */
  readMs: number;
  /** Of those that change a task, or have OpenCode asked. Default: 30 s, as another process may have to act first. */
  changeMs: number;
}

const DEFAULT_TIMEOUTS: Timeouts = { readMs: 10_000, changeMs: 30_000 };

/** Tasks per page: the API's maximum. */
const PAGE_SIZE = 200;

const queryOf = (query: TaskListQuery): string => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
};

const pathOf = (id: string, what = ""): string => `/v1/tasks/${encodeURIComponent(id)}${what}`;

/** Creates a client for the data folder `folder`, see `dataFolder`. It reads and sends nothing before the first call. */
export const createStatusApiClient = (folder: string, timeouts: Partial<Timeouts> = {}): StatusApiClient => {
  const { readMs, changeMs } = { ...DEFAULT_TIMEOUTS, ...timeouts };
  const find = () => findServer(folder);

  const noAnswer = (reason: NoAnswer, isChange: boolean): ApiFailure => {
    if (reason === "unreachable") {
      return apiFailure("notRunning", "OpenCode has just ended, or is starting again. Try again in a few seconds.");
    }
    const advice = isChange ? "The task may have changed: look at it before you try again." : "Try again.";
    return reason === "silent"
      ? apiFailure("silent", `OpenCode has not answered in time: it is stopped or busy. ${advice}`)
      : apiFailure("notRunning", `OpenCode ended before its answer was complete. ${advice}`);
  };

  const call = async <T>(
    what: ApiRequest,
    isExpected: (value: unknown) => value is T,
    timeoutMs = what.method === "POST" ? changeMs : readMs,
  ): Promise<ApiResult<T>> => {
    const found = await find();
    if (!found.ok) return found;
    const answer = await send(found.value, what, timeoutMs);
    if (typeof answer === "string") return noAnswer(answer, what.method === "POST");
    if (answer.status !== 200) return refused(answer.status, answer.text);
    const value = parseJson(answer.text);
    if (isExpected(value)) return { ok: true, value };
    const why = found.value.versionDifference ?? "Its answer does not have the expected form.";
    return apiFailure("unreadable", `OpenCode's answer to ${what.path} cannot be read. ${why}`);
  };

  const get = <T>(path: string, isExpected: (value: unknown) => value is T, timeoutMs?: number) =>
    call({ method: "GET", path }, isExpected, timeoutMs);

  const change = (id: string, action: string, body?: unknown) =>
    call({ method: "POST", path: pathOf(id, action), ...(body === undefined ? {} : { body }) }, isTask);

  return {
    server: find,
    stats: () => get("/v1/stats", isStats),
    fleet: () => get("/v1/fleet", isFleet),
    allTasks: async (query, most = Number.POSITIVE_INFINITY) => {
      const found = new Map<string, ApiTask>();
      for (let offset = 0; found.size < most; ) {
        const page = await get(`/v1/tasks${queryOf({ ...query, limit: PAGE_SIZE, offset })}`, isPage);
        if (!page.ok) return page;
        const { tasks, total } = page.value;
        // A task that is launched meanwhile moves others to the next page, where they come a second time.
        for (const task of tasks.filter(isTask)) found.set(task.sessionID, task);
        offset += tasks.length;
        if (tasks.length === 0 || offset >= total) break;
      }
      return { ok: true, value: [...found.values()].slice(0, most) };
    },
    groupUsage: async ({ parent, batch }) => {
      const page = await get(
        `/v1/tasks${queryOf({ ...(parent === undefined ? {} : { parent }), ...(batch === undefined ? {} : { batch }), limit: 1 })}`,
        isGroupPage,
      );
      return page.ok ? { ok: true, value: page.value.usage } : page;
    },
    task: (id) => get(pathOf(id), isTask),
    logs: (id) => get(pathOf(id, "/logs"), isLogs, changeMs),
    cancel: (id) => change(id, "/cancel"),
    resume: (id, prompt) => change(id, "/resume", { prompt }),
    steer: (id, prompt) => change(id, "/steer", { prompt }),
    answer: (id, reply) => change(id, "/answers", reply),
    changes: (id) => get(pathOf(id, "/changes"), isChanges, changeMs),
    apply: (id) => call({ method: "POST", path: pathOf(id, "/apply") }, isChanges),
    discard: (id) => call({ method: "POST", path: pathOf(id, "/discard") }, isChanges),
    follow: (signal, times) => followTasks(find, signal, times),
  };
};

/** Returns the descendants of a task among these, the nearest first. */
export const descendantsOf = (id: string, tasks: readonly ApiTask[]): ApiTask[] => {
  const children = tasks.filter(({ parentTaskId }) => parentTaskId === id);
  return [...children, ...children.flatMap(({ sessionID }) => descendantsOf(sessionID, tasks))];
};

/**
 * Returns the tasks that a session launched, and all their descendants: ended ones too, however long ago that was.
 * Those nearest to the session come first, and of one parent the newest; at most `most` of them.
 */
export const tasksBelow = async (
  client: Pick<StatusApiClient, "allTasks">,
  sessionID: string,
  most: number,
): Promise<ApiResult<ApiTask[]>> => {
  const found = new Map<string, ApiTask>();
  const parents = new Set([sessionID]);
  // A set is walked to its end, with all that is added meanwhile; what it has is not added again.
  for (const parent of parents) {
    const room = most - found.size;
    if (room <= 0) break;
    const launched = await client.allTasks({ parent }, room);
    if (!launched.ok) return launched;
    for (const task of launched.value) {
      found.set(task.sessionID, task);
      if ((task.childTaskIds ?? []).length > 0) parents.add(task.sessionID);
    }
  }
  return { ok: true, value: [...found.values()] };
};
