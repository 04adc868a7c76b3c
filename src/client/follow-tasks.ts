import { setTimeout as pause } from "node:timers/promises";
import type { UserInteractionRequested, UserInteractionResponded } from "../services/http/contract/schemas.ts";
import { openStream, parseJson } from "../services/http/loopback.ts";
import { type ApiFailure, type ApiResult, type ApiTask, apiFailure, has, isTask, refused } from "./api-types.ts";
import type { FoundServer } from "./find-server.ts";
import { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";

/** What happened to a task. */
export type TaskChange = "created" | "updated" | "completed" | "error" | "cancelled";

/**
 * What a reader of the feed learns:
 * - `snapshot`: all tasks that have not ended, and those that ended last; what was known before is void
 * - `task`: a task changed
 * - `removed`: a task was cleared
 * - `asked`: a task's agent asks the user; the task changes as well
 * - `responded`: such a request is open no more; the task changes as well
 * - `lost`: the connection is lost, or there was none; it is tried again after `retryMs` milliseconds
 */
export type FeedEvent =
  | { type: "snapshot"; tasks: ApiTask[]; server: FoundServer }
  | { type: "task"; change: TaskChange; task: ApiTask }
  | { type: "removed"; sessionID: string }
  | ({ type: "asked" } & UserInteractionRequested)
  | ({ type: "responded" } & UserInteractionResponded)
  | { type: "lost"; failure: ApiFailure; retryMs: number };

/** How long the feed waits, in milliseconds. */
export interface FeedTimes {
  /** Until the stream has to begin. */
  timeoutMs: number;
  /** Without a word, after which a connection counts as lost: the server sends a heartbeat after 30 s of silence. */
  silenceMs: number;
  /** Until the first attempt to connect again; twice as long until each further one, up to `maxRetryMs`. */
  retryMs: number;
  maxRetryMs: number;
}

const DEFAULT_TIMES: FeedTimes = { timeoutMs: 5_000, silenceMs: 45_000, retryMs: 500, maxRetryMs: 5_000 };

const CHANGES: Readonly<Record<string, TaskChange>> = {
  "task.created": "created",
  "task.updated": "updated",
  "task.completed": "completed",
  "task.error": "error",
  "task.cancelled": "cancelled",
};

const isAsked = (value: object): value is UserInteractionRequested =>
  has(value, "string", "sessionID") && has(value.request, "string", "id", "kind", "what", "since");

const isResponded = (value: object): value is UserInteractionResponded =>
  has(value, "string", "sessionID", "requestId", "became");

/** Returns undefined for what this version does not know, or of another version's tasks cannot read. */
const toFeedEvent = ({ name, data }: ServerSentEvent, server: FoundServer): FeedEvent | undefined => {
  const value = parseJson(data);
  if (typeof value !== "object" || value === null) return undefined;
  if (name === "snapshot") {
    const tasks = "tasks" in value && Array.isArray(value.tasks) ? value.tasks : [];
    return { type: "snapshot", tasks: tasks.filter(isTask), server };
  }
  if (name === "task.removed") {
    return "sessionID" in value && typeof value.sessionID === "string"
      ? { type: "removed", sessionID: value.sessionID }
      : undefined;
  }
  if (name === "UserInteractionRequested") return isAsked(value) ? { type: "asked", ...value } : undefined;
  if (name === "UserInteractionResponded") return isResponded(value) ? { type: "responded", ...value } : undefined;
  const change = CHANGES[name];
  return change && isTask(value) ? { type: "task", change, task: value } : undefined;
};

const LOST = apiFailure("notRunning", "The connection to OpenCode is lost.");
const SILENT = apiFailure("silent", "OpenCode does not answer: it is stopped or busy.");

const isAborted = ({ aborted }: AbortSignal): boolean => aborted;

/**
 * Follows the tasks of a data folder until `signal` is aborted: across a lost connection, a restart of OpenCode and a
 * server that takes over at another port. It throws nothing. A reader that is slow gets every event, later.
 */
export async function* followTasks(
  find: () => Promise<ApiResult<FoundServer>>,
  signal: AbortSignal,
  times: Partial<FeedTimes> = {},
): AsyncGenerator<FeedEvent> {
  const { timeoutMs, silenceMs, retryMs, maxRetryMs } = { ...DEFAULT_TIMES, ...times };
  let nextRetryMs = retryMs;
  while (!isAborted(signal)) {
    let failure: ApiFailure = LOST;
    const found = await find();
    if (isAborted(signal)) return;
    if (found.ok) {
      const stream = await openStream(found.value, "/v1/events", { timeoutMs, silenceMs, signal });
      if (typeof stream === "string") {
        failure = stream === "silent" ? SILENT : LOST;
      } else if (stream.status !== 200) {
        failure = await refusal(stream.status, stream.parts);
      } else {
        for await (const event of readServerSentEvents(stream.parts)) {
          const read = toFeedEvent(event, found.value);
          if (read?.type === "snapshot") nextRetryMs = retryMs;
          if (read) yield read;
        }
      }
    } else {
      failure = found;
    }
    if (isAborted(signal)) return;
    yield { type: "lost", failure, retryMs: nextRetryMs };
    // An abort ends the pause early, and then the loop.
    await pause(nextRetryMs, undefined, { signal }).catch(() => undefined);
    nextRetryMs = Math.min(2 * nextRetryMs, maxRetryMs);
  }
}

const refusal = async (status: number, parts: AsyncIterable<string>): Promise<ApiFailure> => {
  let text = "";
  for await (const part of parts) text += part;
  return refused(status, text);
};

/** The tasks as a reader of the feed knows them. */
export interface FollowedTasks {
  /** By id: all that have not ended, the 200 that had ended last at the beginning, and all that have changed since. */
  tasks: ReadonlyMap<string, ApiTask>;
  /** The server that the tasks are from; absent before the first snapshot. */
  server?: FoundServer;
  /** Why nothing new is heard at the moment; absent while the feed is connected. The tasks are those last heard of. */
  lost?: ApiFailure;
}

/** What a reader knows before the first event. */
export const NO_TASKS: FollowedTasks = { tasks: new Map() };

/** Returns the tasks as they are after an event of the feed. Changes nothing that it was given. */
export const afterEvent = (known: FollowedTasks, event: FeedEvent): FollowedTasks => {
  switch (event.type) {
    case "snapshot":
      return { tasks: new Map(event.tasks.map((task) => [task.sessionID, task])), server: event.server };
    case "task":
      return { ...known, tasks: new Map(known.tasks).set(event.task.sessionID, event.task) };
    case "removed": {
      const tasks = new Map(known.tasks);
      tasks.delete(event.sessionID);
      return { ...known, tasks };
    }
    case "asked":
    case "responded":
      return known;
    case "lost":
      return { ...known, lost: event.failure };
  }
};
