import { get } from "node:http";
import { z } from "zod";
import { LOOPBACK } from "../loopback.ts";

/** A server, as other processes see it: the content of `instances/<pid>.json`. */
export const Instance = z.object({
  port: z.int().min(1).max(65_535),
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
  url: z.string(),
});
export type Instance = z.infer<typeof Instance>;

/** The content of `server.json`. Another program may have written one without a token. */
export const ServerFile = Instance.extend({ token: z.string().optional() });
export type ServerFile = z.infer<typeof ServerFile>;

/** Compares by age, for sorting: the oldest first. */
export const oldestFirst = (one: Instance, other: Instance): number =>
  Date.parse(one.startedAt) - Date.parse(other.startedAt) || one.pid - other.pid;

/** Milliseconds in which a server has to respond. One that is stopped or busy does not. */
const PROBE_TIMEOUT_MS = 1_000;

/** The part of `/v1/health` that identifies a server. Another program, or another server, at its port differs in it. */
const Health = Instance.pick({ pid: true, startedAt: true });

const hasProcess = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/** Characters of a response of `/v1/health` that are read at most. */
const MAX_RESPONSE_CHARS = 10_000;

/** Requests `/v1/health`. `body` is the parsed JSON, undefined for anything else; `silent`: no response in time. */
const healthAt = (port: number): Promise<{ body: unknown } | "silent" | "refused"> =>
  new Promise((resolve) => {
    const options = { port, host: LOOPBACK, path: "/v1/health", agent: false, timeout: PROBE_TIMEOUT_MS };
    const request = get(options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length > MAX_RESPONSE_CHARS) response.destroy();
      });
      response.on("error", () => resolve({ body: undefined }));
      response.on("close", () => resolve({ body: parseJson(text) }));
    });
    request.on("timeout", () => {
      resolve("silent");
      request.destroy();
    });
    request.on("error", () => resolve("refused"));
  });

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Checks whether the server of another process still exists: `reachable` when it says so itself, `silent` when something
 * listens at its port and has not responded in time. A process with its id proves nothing, and a program that listens at
 * its port little, since the system assigns both again.
 */
export const probe = async ({ pid, port, startedAt }: Instance): Promise<"reachable" | "silent" | "gone"> => {
  if (pid === process.pid || !hasProcess(pid)) return "gone";
  const health = await healthAt(port);
  if (health === "refused") return "gone";
  if (health === "silent") return "silent";
  const { data } = Health.safeParse(health.body);
  return data?.pid === pid && data.startedAt === startedAt ? "reachable" : "gone";
};
