import { connect } from "node:net";
import { z } from "zod";
import { LOOPBACK } from "./listening.ts";

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
export const byAge = (one: Instance, other: Instance): number =>
  Date.parse(one.startedAt) - Date.parse(other.startedAt) || one.pid - other.pid;

/** Milliseconds after which a connection that is neither taken nor refused counts as taken: its process is stopped. */
const PATIENCE = 500;

const hasProcess = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process: it is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: LOOPBACK });
    const say = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.unref();
    socket.setTimeout(PATIENCE, () => say(true));
    socket.once("connect", () => say(true));
    socket.once("error", () => say(false));
  });

/**
 * True when another process's server is there. That its process id is alive says little: the system gives ids again.
 * Its port is listened on even while it is stopped or busy.
 */
export const isLiving = async ({ pid, port }: Instance): Promise<boolean> =>
  pid !== process.pid && hasProcess(pid) && (await isListening(port));
