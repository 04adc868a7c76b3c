import { z } from "zod";
import type { Answer } from "../answer.ts";
import { createDiscoveryFiles } from "../services/http/discovery-files.ts";
import { reasonOf } from "../services/log.ts";
import { dataFolder } from "../services/store/store-file.ts";
import { Task } from "../task.ts";
import { CommandError } from "./command.ts";

/** What a command asks of the OpenCode that runs. */
export interface StatusApi {
  /** All tasks that have not ended, newest first. */
  live(): Promise<Task[]>;
  /** The task as it stands after the answer. */
  answer(taskId: string, answer: Answer): Promise<Task>;
}

const Page = z.object({ tasks: z.array(Task), total: z.number() });
const Fault = z.object({ error: z.string() });

/** Tasks on a page: as many as the API gives at once. */
const PAGE = 200;

/** Milliseconds that OpenCode has to answer: another of its processes may have to be asked. */
const PATIENCE = 30_000;

/** The status API of the running OpenCode whose plugin keeps its files in that folder. Throws `CommandError`. */
export const openStatusApi = (folder = dataFolder()): StatusApi => {
  const server = createDiscoveryFiles(folder).readServer();
  if (!server) {
    throw new CommandError(
      `No OpenCode is found: there is no server.json in ${folder}. Start it, or switch its status API on; --data names another folder.`,
    );
  }

  const call = async (path: string, init: RequestInit = {}): Promise<unknown> => {
    const headers = { authorization: `Bearer ${server.token ?? ""}`, "content-type": "application/json" };
    const response = await fetch(`${server.url}${path}`, {
      ...init,
      headers: { ...headers, connection: "close" },
      signal: AbortSignal.timeout(PATIENCE),
    }).catch((error: unknown) => {
      throw new CommandError(`OpenCode at ${server.url} does not answer: ${reasonOf(error)}.`);
    });
    const body: unknown = await response.json();
    if (response.ok) return body;
    throw new CommandError(Fault.safeParse(body).data?.error ?? `OpenCode answered with status ${response.status}.`);
  };

  const all = async (status: string, offset = 0): Promise<Task[]> => {
    const { tasks, total } = Page.parse(await call(`/v1/tasks?status=${status}&limit=${PAGE}&offset=${offset}`));
    return offset + tasks.length < total && tasks.length > 0
      ? [...tasks, ...(await all(status, offset + tasks.length))]
      : tasks;
  };

  return {
    live: async () => {
      const tasks = [...(await all("running")), ...(await all("resumed"))];
      return tasks.sort((one, other) => other.startedAt.localeCompare(one.startedAt));
    },
    answer: async (taskId, answer) => {
      const path = `/v1/tasks/${encodeURIComponent(taskId)}/answers`;
      return Task.parse(await call(path, { method: "POST", body: JSON.stringify(answer) }));
    },
  };
};
