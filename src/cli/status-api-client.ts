import { z } from "zod";
import { isLoopback } from "../services/http/access/request-check.ts";
import { createDiscoveryFiles } from "../services/http/discovery/files.ts";
import { errorMessage } from "../services/platform/log.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/store/sqlite/database-file.ts";
import { Task } from "../task.ts";
import type { UserReply } from "../user-request.ts";
import { CommandError } from "./command.ts";

/** A task, as far as commands show it. */
const Shown = Task.pick({
  sessionID: true,
  status: true,
  description: true,
  agent: true,
  startedAt: true,
  attention: true,
});
export type Shown = z.infer<typeof Shown>;

/** What a command asks of the OpenCode that runs. */
export interface StatusApiClient {
  /** All tasks that have not ended, newest first. */
  live(): Promise<Shown[]>;
  /** The task as it stands after the answer. */
  answer(taskId: string, answer: UserReply): Promise<Shown>;
}

const Page = z.object({ tasks: z.array(z.unknown()), total: z.number() });
const Fault = z.object({ error: z.string() });

/** Tasks on a page: as many as the API gives at once. */
const PAGE = 200;

/** Milliseconds that OpenCode has to answer: another of its processes may have to be asked. */
const TIMEOUT_MS = 30_000;

const causeOf = (error: unknown): string =>
  error instanceof Error && error.cause ? errorMessage(error.cause) : errorMessage(error);

/** The status API of the running OpenCode whose plugin keeps its files in that folder. Throws `CommandError`. */
export const connectStatusApi = (folder = dataFolder()): StatusApiClient => {
  const server = createDiscoveryFiles(folder).readServer();
  if (!server) {
    throw new CommandError(
      `No OpenCode is found: there is no server.json in ${folder}. Start it, or switch its status API on; --data names another folder.`,
    );
  }
  const { url, token = "" } = server;
  // It holds a token that nobody else is to have.
  if (!URL.canParse(url) || !isLoopback(new URL(url).host)) {
    throw new CommandError(`server.json in ${folder} does not lead to this machine, but to ${toSingleLine(url)}.`);
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
      throw new CommandError(`OpenCode at ${url} does not answer as it should: ${toSingleLine(causeOf(error))}.`);
    }
    const read = schema.safeParse(body);
    if (status === 200 && read.success) return read.data;
    const fault = Fault.safeParse(body).data?.error ?? `OpenCode at ${url} answered with status ${status}`;
    throw new CommandError(toSingleLine(fault));
  };

  /** A task that another version shows in another way is left out. */
  const all = async (status: string, offset = 0): Promise<Shown[]> => {
    const { tasks, total } = await call(Page, `/v1/tasks?status=${status}&limit=${PAGE}&offset=${offset}`);
    const shown = tasks.flatMap((task) => Shown.safeParse(task).data ?? []);
    const next = offset + tasks.length;
    return tasks.length > 0 && next < total ? [...shown, ...(await all(status, next))] : shown;
  };

  return {
    live: async () => {
      const tasks = [...(await all("running")), ...(await all("resumed"))];
      return tasks.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
    },
    answer: (taskId, answer) =>
      call(Shown, `/v1/tasks/${encodeURIComponent(taskId)}/answers`, {
        method: "POST",
        body: JSON.stringify(answer),
      }),
  };
};
