import { type ApiRequest, type NoAnswer, parseJson, send } from "../services/http/loopback.ts";
import type { Usage } from "../task.ts";
import type { UserReply } from "../user-request.ts";
import {
  type ApiFailure,
  type ApiResult,
  type ApiTask,
  apiFailure,
  isChanges,
  isFleet,
  isGroupPage,
  isLaunches,
  isLogs,
  isPage,
  isStats,
  isTask,
  isWay,
  refused,
  type TaskListQuery,
} from "./api-types.ts";
import { findServer } from "./find-server.ts";
import { type FeedEvent, type FeedTimes, followTasks } from "./follow-tasks.ts";

/** Milliseconds in which requests that read have to be answered, and those that change a task or have OpenCode asked. */
const DEFAULT_TIMEOUTS = { readMs: 10_000, changeMs: 30_000 };

/** Tasks per page: the API's maximum. */
const PAGE_SIZE = 200;

const queryOf = (query: TaskListQuery & { limit: number; offset?: number }): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
};

const pathOf = (id: string, what = ""): string => `/v1/tasks/${encodeURIComponent(id)}${what}`;

/**
 * Creates a client of the status API of the OpenCode that serves the data folder `folder`, whichever process that is at the
 * moment: each call looks at `server.json` again, so a client outlives any OpenCode. Nothing is open between calls.
 *
 * Every call resolves to a value or to a failure with a sentence for a person, and never throws. Nothing is sent twice: a
 * call that failed may be repeated by its caller, if it changes nothing. Ids may be shortened to an unambiguous beginning.
 * Calls that change a task resolve to the task as it is after that.
 */
export const createStatusApiClient = (folder: string, timeouts: Partial<typeof DEFAULT_TIMEOUTS> = {}) => {
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
    /** Finds the server, without asking it for anything else. */
    server: find,
    stats: () => get("/v1/stats", isStats),
    /** Requests the servers of the fleet, and the tasks that wait for them. */
    fleet: () => get("/v1/fleet", isFleet),
    /**
     * Requests all tasks that match, newest first, page by page; at most `most` of them. Tasks of another version that cannot be
     * shown are left out.
     */
    allTasks: async (query: TaskListQuery, most = Number.POSITIVE_INFINITY): Promise<ApiResult<ApiTask[]>> => {
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
    /** Requests what all tasks of a session or a batch used with all their descendants. */
    groupUsage: async ({ parent, batch }: TaskListQuery): Promise<ApiResult<Usage>> => {
      const page = await get(`/v1/tasks${queryOf({ parent, batch, limit: 1 })}`, isGroupPage);
      return page.ok ? { ok: true, value: page.value.usage } : page;
    },
    /** Requests a task, whole. */
    task: (id: string) => get(pathOf(id), isTask),
    /** Requests the messages of a task's conversation, complete. */
    logs: (id: string) => get(pathOf(id, "/logs"), isLogs, changeMs),
    /** Requests by which way a task's newest run came to where it is in its chart. */
    way: (id: string) => get(pathOf(id, "/way"), isWay),
    /** Requests the launches that have led to no task. */
    launches: () => get("/v1/launches", isLaunches),
    cancel: (id: string) => change(id, "/cancel"),
    pause: (id: string) => change(id, "/pause"),
    continue: (id: string) => change(id, "/continue"),
    resume: (id: string, prompt: string) => change(id, "/resume", { prompt }),
    retry: (id: string, asked: { prompt?: string | undefined; model?: string | undefined }) =>
      change(id, "/retry", asked),
    steer: (id: string, prompt: string) => change(id, "/steer", { prompt }),
    answer: (id: string, reply: UserReply) => change(id, "/answers", reply),
    /** Requests what an ended task left changed in its worktree. */
    changes: (id: string) => get(pathOf(id, "/changes"), isChanges, changeMs),
    /** Takes that into the tree that the worktree was made from: all of it, or nothing. */
    apply: (id: string) => call({ method: "POST", path: pathOf(id, "/apply") }, isChanges),
    /** Removes the worktree with it. */
    discard: (id: string) => call({ method: "POST", path: pathOf(id, "/discard") }, isChanges),
    /**
     * Follows all tasks until `signal` is aborted, across lost connections and restarts: see `followTasks`.
     * @example
     * let known = NO_TASKS;
     * for await (const event of client.follow(signal)) show((known = afterEvent(known, event)));
     */
    follow: (signal: AbortSignal, times?: Partial<FeedTimes>): AsyncIterable<FeedEvent> =>
      followTasks(find, signal, times),
  };
};
export type StatusApiClient = ReturnType<typeof createStatusApiClient>;

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
