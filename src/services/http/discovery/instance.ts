import { get } from "node:http";
import { z } from "zod";
import { LOOPBACK } from "../server/listener.ts";

/** A server as other processes see it: what stands in `instances/<pid>.json`. */
export const Instance = z.object({
  port: z.int().min(1).max(65_535),
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
  url: z.string(),
});
export type Instance = z.infer<typeof Instance>;

/** What stands in `server.json`. Others may have written theirs without a token. */
export const ServerFile = Instance.extend({ token: z.string().optional() });
export type ServerFile = z.infer<typeof ServerFile>;

/** Orders the oldest first. */
export const oldestFirst = (one: Instance, other: Instance): number =>
  Date.parse(one.startedAt) - Date.parse(other.startedAt) || one.pid - other.pid;

/** Milliseconds that a server has to say who it is. One that is stopped or busy does not. */
const PATIENCE = 1_000;

/** What a server says of itself. Another program, or another server, at its port says something else. */
const Health = Instance.pick({ pid: true, startedAt: true });

const hasProcess = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process: it is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/** The longest answer of `/v1/health` that is read. */
const LONGEST = 10_000;

/** What is said at a port: JSON, or undefined where it is none; nothing for as long as it is waited for; or refused. */
const healthAt = (port: number): Promise<{ said: unknown } | "silent" | "refused"> =>
  new Promise((resolve) => {
    const ask = get({ port, host: LOOPBACK, path: "/v1/health", agent: false, timeout: PATIENCE }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => {
        text += part;
        if (text.length > LONGEST) answer.destroy();
      });
      answer.on("error", () => resolve({ said: undefined }));
      answer.on("close", () => resolve({ said: parsed(text) }));
    });
    ask.on("timeout", () => {
      resolve("silent");
      ask.destroy();
    });
    ask.on("error", () => resolve("refused"));
  });

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Whether another process's server is there: `living` when it says so itself. That its process id is alive says nothing,
 * and that its port is listened on little: the system gives both again. `silent` when something is there that has not
 * answered yet.
 */
export const stateOf = async ({ pid, port, startedAt }: Instance): Promise<"living" | "silent" | "gone"> => {
  if (pid === process.pid || !hasProcess(pid)) return "gone";
  const health = await healthAt(port);
  if (health === "refused") return "gone";
  if (health === "silent") return "silent";
  const { data } = Health.safeParse(health.said);
  return data?.pid === pid && data.startedAt === startedAt ? "living" : "gone";
};
