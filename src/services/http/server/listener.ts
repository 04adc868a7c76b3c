import type { RequestHandler } from "../api/app.ts";

/** A server that accepts connections. */
export interface Listener {
  port: number;
  /** Accepts no more, and resolves when what is under way is answered, or after so many milliseconds. */
  close(within: number): Promise<void>;
}

/** What connections may cost. */
export interface Limits {
  /**
   * Milliseconds for which a connection may rest, and that a request may take to come or its answer to be taken; then
   * the connection is closed. Streams are not limited. Bun counts in steps of four seconds.
   */
  patience: number;
  /** Connections at the same time. On Bun, which does not count them: requests under way. */
  connections: number;
}

/**
 * Longer than any answer takes: 15 s are the longest that OpenCode, or another process, is waited for. And as many
 * connections as all streams take, and as many again: a process may often have no more than 1,024 files open.
 */
export const LIMITS: Limits = { patience: 30_000, connections: 256 };

/** Where the server is bound to: this machine alone can reach it. */
export const LOOPBACK = "127.0.0.1";

/** Listens on a port of loopback, without keeping the process alive. Throws when it cannot. */
export type Listen = (port: number, answer: RequestHandler, limits: Limits) => Promise<Listener>;
