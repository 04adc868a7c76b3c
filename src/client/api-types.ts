import type { ApiTask, Changes } from "../services/http/contract/api-task.ts";
import type { ApiFleet, Launch, Launches, Logs, Stats, TaskWay } from "../services/http/contract/schemas.ts";
import { parseJson } from "../services/http/loopback.ts";
import { codeText } from "../services/platform/plain-text.ts";
import type { TaskStatus, Usage } from "../task.ts";

/**
 * Why a request came to nothing:
 * - `notRunning`: no OpenCode serves the data folder: none has written `server.json`, or the one that did has ended
 * - `silent`: it has not answered in time, because it is stopped or busy; a change may still happen
 * - `refused`: it answered with an error
 * - `unreadable`: its answer is not what this version of the client understands
 */
type ApiFailureKind = "notRunning" | "silent" | "refused" | "unreadable";

/** An expected failure of a request. */
export interface ApiFailure {
  ok: false;
  kind: ApiFailureKind;
  /** What was wrong and what to do, in one or two sentences; of a conflict, with the lines of both sides. It may repeat what the server said. */
  reason: string;
  /** The HTTP status of an answer with an error, as listed in docs/status-api.md. */
  status?: number;
}

/** What a request returned. Expected failures are values; the client throws nothing. */
export type ApiResult<T> = { ok: true; value: T } | ApiFailure;

/** Creates the result of a request that failed. */
export const apiFailure = (kind: ApiFailureKind, reason: string, status?: number): ApiFailure => ({
  ok: false,
  kind,
  reason,
  ...(status === undefined ? {} : { status }),
});

/** Creates the failure of an answer with an error: its body says in `error` what was wrong and what to do. */
export const refused = (status: number, text: string): ApiFailure => {
  const body = parseJson(text);
  const hasReason = typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
  return apiFailure(
    "refused",
    hasReason ? codeText(String(body.error)) : `OpenCode answered with status ${status}.`,
    status,
  );
};

// The API's schemas are the only place where these shapes are written down, and this is the only way to them for what runs
// outside the server. Only their types are imported: the client carries no validator. It checks what its readers rely on by
// itself, see `isTask`.
export type { ApiFleet, ApiTask, Changes, Launch, Logs, Stats, TaskWay };

/** Which tasks to list. A task must match all that is given. */
export interface TaskListQuery {
  status?: TaskStatus | undefined;
  agent?: string | undefined;
  directory?: string | undefined;
  /** The session in which they were launched: its whole id. */
  parent?: string | undefined;
  batch?: string | undefined;
  search?: string | undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** True for an object whose fields of these names have that type. */
export const has = (
  value: unknown,
  type: "string" | "number" | "boolean",
  ...names: string[]
): value is Record<string, unknown> => isRecord(value) && names.every((name) => typeof value[name] === type);

const isUsage = (value: unknown): value is Record<string, unknown> => has(value, "number", "tokens", "cost");

const TEXTS = ["sessionID", "parentSessionID", "status", "agent", "description", "startedAt", "runStartedAt"] as const;

/** True when a value has the fields of a task that every reader relies on: one of another version may lack others. */
export const isTask = (value: unknown): value is ApiTask =>
  has(value, "string", ...TEXTS) &&
  isUsage(value.progress) &&
  Array.isArray(value.progress.lastTools) &&
  isUsage(value.usage) &&
  Array.isArray(value.allowed);

/** True for a page of tasks, newest first, whatever version they are of, with how many there are in all. */
export const isPage = (value: unknown): value is { tasks: unknown[]; total: number } =>
  has(value, "number", "total") && Array.isArray(value.tasks);

/** True for a page of the tasks of a session or a batch, with what all of these used. */
export const isGroupPage = (value: unknown): value is { usage: Usage } =>
  isPage(value) && "usage" in value && isUsage(value.usage);

export const isStats = (value: unknown): value is Stats =>
  has(value, "number", "totalTasks") && isRecord(value.byStatus) && isUsage(value.usage);

export const isFleet = (value: unknown): value is ApiFleet =>
  has(value, "boolean", "isUsed", "isReached") &&
  Array.isArray(value.servers) &&
  value.servers.every(
    (server) =>
      isRecord(server) &&
      Array.isArray(server.projects) &&
      server.projects.every((project) => has(project, "number", "slots", "atWork")),
  ) &&
  has(value.tasks, "number", "waiting");

/** True for what a task left changed in its worktree. */
export const isChanges = (value: unknown): value is Changes =>
  has(value, "string", "tree") && Array.isArray(value.files);

/** True for the way of a task's newest run. */
export const isWay = (value: unknown): value is TaskWay =>
  isRecord(value) && Array.isArray(value.passed) && isRecord(value.arrivals);

/** True for the launches that have led to no task. */
export const isLaunches = (value: unknown): value is Launches =>
  isRecord(value) &&
  Array.isArray(value.launches) &&
  value.launches.every((one) => isWay(one) && has(one, "string", "id", "parentSessionID", "directory", "why"));

/** True for the messages of a conversation. */
export const isLogs = (value: unknown): value is Logs => Array.isArray(value);
