import type { ApiTask, Changes } from "../src/services/http/contract/api-task.ts";
import type { ApiFleet, Servers, Stats, TaskPage, TaskWay } from "../src/services/http/contract/schemas.ts";
import type { UserReply } from "../src/user-request.ts";
import { forgetToken, readToken } from "./token.ts";

/** A request that failed, with the reason in the words of the server. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** An event of a task's journal; other fields depend on the type. */
export interface JournalEvent {
  type: string;
  at: number;
  [field: string]: unknown;
}

const headers = (more: Record<string, string> = {}): Record<string, string> => {
  const token = readToken();
  return token === undefined ? more : { ...more, Authorization: `Bearer ${token}` };
};

/** False while it is not known who listens at the page's address: nothing is sent there then. */
let isServerKnown = true;

/** Says whether the server of the page is there, and has proven that it is. */
export const setServerKnown = (isKnown: boolean): void => {
  isServerKnown = isKnown;
};

/** Requests a path of the status API. Throws an `ApiError` unless the answer is a success. */
export const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
  if (!isServerKnown) throw new ApiError(0, "OpenCode cannot be reached.");
  const response = await fetch(path, { ...init, headers: headers(init.headers as Record<string, string>) }).catch(
    (error: unknown) => {
      if (init.signal?.aborted) throw error;
      throw new ApiError(0, "OpenCode cannot be reached.");
    },
  );
  if (response.ok) return response;
  if (response.status === 401 && readToken() !== undefined) forgetToken();
  const body: unknown = await response.json().catch(() => undefined);
  const reason =
    typeof body === "object" && body !== null && "error" in body ? String(body.error) : response.statusText;
  throw new ApiError(response.status, reason);
};

const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  (await request(path, signal ? { signal } : {})).json();

const ofTask = (id: string, what = ""): string => `/v1/tasks/${encodeURIComponent(id)}${what}`;

/** Reads a page of tasks, newest first. */
export const readPage = (parameters: URLSearchParams, signal?: AbortSignal): Promise<TaskPage> =>
  get(`/v1/tasks?${parameters}`, signal);

export const readTask = (id: string, signal?: AbortSignal): Promise<ApiTask> => get(ofTask(id), signal);

export const readJournal = (id: string, signal?: AbortSignal): Promise<JournalEvent[]> =>
  get(ofTask(id, "/events"), signal);

/** Reads by which way the newest run of a task came to where it is. */
export const readWay = (id: string, signal?: AbortSignal): Promise<TaskWay> => get(ofTask(id, "/way"), signal);

/** Reads the messages of a task's session, which have the form that OpenCode gives them. */
export const readLogs = (id: string, signal?: AbortSignal): Promise<unknown[]> => get(ofTask(id, "/logs"), signal);

export const readStats = (): Promise<Stats> => get("/v1/stats");

export const readFleet = (signal: AbortSignal): Promise<ApiFleet> => get("/v1/fleet", signal);

export const readServers = (signal: AbortSignal): Promise<Servers> => get("/v1/servers", signal);

/** Reads what an ended task left changed in its worktree. */
export const readChanges = (id: string, signal?: AbortSignal): Promise<Changes> => get(ofTask(id, "/changes"), signal);

const post = async <T = ApiTask>(id: string, what: string, body?: unknown): Promise<T> => {
  const init: RequestInit = { method: "POST" };
  if (body !== undefined)
    Object.assign(init, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  return (await request(ofTask(id, what), init)).json();
};

export const cancelTask = (id: string): Promise<ApiTask> => post(id, "/cancel");
export const pauseTask = (id: string): Promise<ApiTask> => post(id, "/pause");
export const continueTask = (id: string): Promise<ApiTask> => post(id, "/continue");
export const resumeTask = (id: string, prompt: string): Promise<ApiTask> => post(id, "/resume", { prompt });
export const retryTask = (id: string, prompt: string, model = ""): Promise<ApiTask> =>
  post(id, "/retry", { prompt, ...(model === "" ? {} : { model }) });
export const steerTask = (id: string, prompt: string): Promise<ApiTask> => post(id, "/steer", { prompt });
export const applyChanges = (id: string): Promise<Changes> => post(id, "/apply");
export const discardChanges = (id: string): Promise<Changes> => post(id, "/discard");
export const answerRequest = (id: string, reply: UserReply): Promise<ApiTask> => post(id, "/answers", reply);
