import { z } from "zod";
import { createDiscoveryFiles } from "../services/http/discovery/instances.ts";
import { isLoopback } from "../services/http/loopback.ts";
import { errorMessage } from "../services/platform/log.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/store/sqlite/database-file.ts";
import { Task } from "../task.ts";
import type { UserReply } from "../user-request.ts";
import { CommandError } from "./command.ts";

/** The fields of a task that commands show. */
const ShownTask = Task.pick({
  sessionID: true,
  status: true,
  description: true,
  agent: true,
  startedAt: true,
  attention: true,
});
export type ShownTask = z.infer<typeof ShownTask>;

/** The requests that commands send to the running OpenCode. */
export interface StatusApiClient {
  /** Lists all tasks that have not ended, newest first. */
  live(): Promise<ShownTask[]>;
  /** Sends the user's reply to a request of a task. Resolves to the task as it is after that. */
  answer(taskId: string, reply: UserReply): Promise<ShownTask>;
  /** Gives a running task a further instruction. Resolves to the task as it is after that. */
  steer(taskId: string, prompt: string): Promise<ShownTask>;
}

const Page = z.object({ tasks: z.array(z.unknown()), total: z.number() });
const ErrorBody = z.object({ error: z.string() });

/** Tasks per page: the API's maximum. */
const PAGE_SIZE = 200;

/** Milliseconds until a request fails. OpenCode may have to ask another of its processes. */
const TIMEOUT_MS = 30_000;

const causeOf = (error: unknown): string =>
  error instanceof Error && error.cause ? errorMessage(error.cause) : errorMessage(error);

/**
 * Connects to the running OpenCode whose plugin keeps its files in `folder`. Nothing is sent before the first request.
 * @throws CommandError if no OpenCode is found there. The requests throw it if OpenCode does not answer, or refuses.
 */
export const connectStatusApi = (folder = dataFolder()): StatusApiClient => {
  const server = createDiscoveryFiles(folder).readServer();
  if (!server) {
    throw new CommandError(
      `Found no running OpenCode: there is no server.json in ${folder}. Start OpenCode, or enable its status API; use --data for another folder.`,
    );
  }
  const { url, token = "" } = server;
  // The token in the file must not be sent to another machine.
  if (!URL.canParse(url) || !isLoopback(new URL(url).host)) {
    throw new CommandError(`The URL in server.json in ${folder} is not on this machine: ${toSingleLine(url)}.`);
  }

  const call = async <S extends z.ZodType>(schema: S, path: string, init: RequestInit = {}): Promise<z.infer<S>> => {
    let status: number;
    let body: unknown;
    try {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", connection: "close" };
      const response = await fetch(url + path, { ...init, headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
      status = response.status;
      body = await response.json();
    } catch (error) {
      throw new CommandError(`OpenCode at ${url} gave no valid response: ${toSingleLine(causeOf(error))}.`);
    }
    const read = schema.safeParse(body);
    if (status === 200 && read.success) return read.data;
    const problem = ErrorBody.safeParse(body).data?.error ?? `OpenCode at ${url} answered with status ${status}`;
    throw new CommandError(toSingleLine(problem));
  };

  /** Lists all pages. Tasks in the format of another version are left out. */
  const listAll = async (status: string, offset = 0): Promise<ShownTask[]> => {
    const { tasks, total } = await call(Page, `/v1/tasks?status=${status}&limit=${PAGE_SIZE}&offset=${offset}`);
    const shown = tasks.flatMap((task) => ShownTask.safeParse(task).data ?? []);
    const next = offset + tasks.length;
    return tasks.length > 0 && next < total ? [...shown, ...(await listAll(status, next))] : shown;
  };

  const post = (taskId: string, action: string, body: unknown) =>
    call(ShownTask, `/v1/tasks/${encodeURIComponent(taskId)}/${action}`, {
      method: "POST",
      body: JSON.stringify(body),
    });

  return {
    live: async () => {
      const tasks = [...(await listAll("running")), ...(await listAll("resumed"))];
      return tasks.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
    },
    answer: (taskId, reply) => post(taskId, "answers", reply),
    steer: (taskId, prompt) => post(taskId, "steer", { prompt }),
  };
};
