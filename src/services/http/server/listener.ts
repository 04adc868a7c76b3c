// Servers, and the hook on the end of the process, are our own: docs/decisions/283-what-the-http-server-is-made-of.md
import type { Log } from "../../platform/log.ts";
import type { RequestHandler } from "../access/request-handling.ts";
import { DEFAULT_PORT } from "../loopback.ts";

/** A server that accepts connections. */
export interface Listener {
  port: number;
  /** Accepts no more connections, and resolves when all pending responses are out, after `withinMs` at the latest. */
  close(withinMs: number): Promise<void>;
}

/** What connections may cost. */
export interface ConnectionLimits {
  /**
   * Milliseconds for which a connection may be idle, a request may take to arrive, and its response to be read; then the
   * connection is closed. Streams are not limited. Bun counts in steps of four seconds.
   */
  timeoutMs: number;
  /** Simultaneous connections. On Bun, which does not count those: pending requests. */
  maxConnections: number;
}

/**
 * The default limits. The time is longer than any response takes: OpenCode, or another process, is waited for 15 s at
 * most. The connections are twice those that all streams take; often a process may not open more than 1,024 files.
 */
export const CONNECTION_LIMITS: ConnectionLimits = { timeoutMs: 30_000, maxConnections: 256 };

/** Listens on a port of loopback, without keeping the process alive. Rejects when the port cannot be used. */
export type Listen = (port: number, handle: RequestHandler, limits: ConnectionLimits) => Promise<Listener>;

type Environment = Readonly<Record<string, string | undefined>>;

/** False when the environment switches the server off. */
export const isEnabled = (env: Environment): boolean => env.ASYNCAGENTS_API_ENABLED?.trim().toLowerCase() !== "false";

const MAX_PORT = 65_535;
const PORTS_TO_TRY = 10;

/** Returns the ports to try in turn: ten from the configured one on, then 0, for which the system chooses a free one. */
export const portsToTry = (env: Environment, log: Log): number[] => {
  const configured = env.ASYNCAGENTS_API_PORT?.trim() ?? "";
  const isPort = /^\d{1,5}$/.test(configured) && Number(configured) >= 1 && Number(configured) <= MAX_PORT;
  if (configured !== "" && !isPort) {
    const problem = `ASYNCAGENTS_API_PORT is ${JSON.stringify(configured)}, which is not a port from 1 to ${MAX_PORT}`;
    log.error(`${problem}; the status API uses ${DEFAULT_PORT}`);
  }
  const first = isPort ? Number(configured) : DEFAULT_PORT;
  const ports = Array.from({ length: PORTS_TO_TRY }, (_, index) => first + index);
  return [...ports.filter((port) => port <= MAX_PORT), 0];
};
