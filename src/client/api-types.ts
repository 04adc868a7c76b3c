import type { ApiTask, Changes } from "../services/http/contract/api-task.ts";
import type { ApiFleet, Health, Logs, Stats } from "../services/http/contract/schemas.ts";
import type { TaskStatus, Usage } from "../task.ts";

// The API's schemas are the only place where these shapes are written down, and this is the only way to them for what runs
// outside the server. Only their types are imported: the client carries no validator. It checks what its readers rely on by
// itself, see `isTask`.
export type { ApiFleet, ApiTask, Changes, Logs, Stats };

/** Which tasks to list. A task must match all that is given. */
export interface TaskListQuery {
  status?: TaskStatus;
  agent?: string;
  directory?: string;
  /** The session in which they were launched: its whole id. */
  parent?: string;
  batch?: string;
  search?: string;
  /** Tasks on a page. Default: 50; at most 200. */
  limit?: number;
  /** Tasks to skip. Default: 0. */
  offset?: number;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const isUsage = (value: unknown): boolean =>
  isRecord(value) && typeof value.tokens === "number" && typeof value.cost === "number";

const TEXTS = ["sessionID", "parentSessionID", "status", "agent", "description", "startedAt", "runStartedAt"] as const;

const isProgress = (value: unknown): boolean => isUsage(value) && isRecord(value) && Array.isArray(value.lastTools);

/** True when a value has the fields of a task that every reader relies on: one of another version may lack others. */
export const isTask = (value: unknown): value is ApiTask =>
  isRecord(value) &&
  TEXTS.every((name) => typeof value[name] === "string") &&
  isProgress(value.progress) &&
  isUsage(value.usage) &&
  Array.isArray(value.allowed);

/** True for a page of tasks, newest first, whatever version they are of, with how many there are in all. */
export const isPage = (value: unknown): value is { tasks: unknown[]; total: number } =>
  isRecord(value) && Array.isArray(value.tasks) && typeof value.total === "number";

/** True for a page of the tasks of a session or a batch, with what all of these used. */
export const isGroupPage = (value: unknown): value is { usage: Usage } =>
  isPage(value) && "usage" in value && isUsage(value.usage);

/** True for counts of tasks. */
export const isStats = (value: unknown): value is Stats =>
  isRecord(value) && isRecord(value.byStatus) && typeof value.totalTasks === "number" && isUsage(value.usage);

/** True for the answer of `/v1/health`. Another program at the server's port gives another one. */
export const isHealth = (value: unknown): value is Health =>
  isRecord(value) &&
  typeof value.pid === "number" &&
  typeof value.startedAt === "string" &&
  typeof value.version === "string";

const isServedProject = (value: unknown): boolean =>
  isRecord(value) && typeof value.slots === "number" && typeof value.atWork === "number";

/** True for what the API says of the fleet. */
export const isFleet = (value: unknown): value is ApiFleet =>
  isRecord(value) &&
  typeof value.isUsed === "boolean" &&
  typeof value.isReached === "boolean" &&
  Array.isArray(value.servers) &&
  value.servers.every(
    (server) => isRecord(server) && Array.isArray(server.projects) && server.projects.every(isServedProject),
  ) &&
  isRecord(value.tasks) &&
  typeof value.tasks.waiting === "number";

/** True for what a task left changed in its worktree. */
export const isChanges = (value: unknown): value is Changes =>
  isRecord(value) && typeof value.tree === "string" && Array.isArray(value.files);

/** True for the messages of a conversation. */
export const isLogs = (value: unknown): value is Logs => Array.isArray(value);
