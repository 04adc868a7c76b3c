import type { Answer } from "./app.ts";

/** A server that accepts connections. */
export interface Listening {
  port: number;
  /** Accepts no more, and resolves when what is under way is answered, or after so many milliseconds. */
  close(within: number): Promise<void>;
}

/** Where the server is bound to: this machine alone can reach it. */
export const LOOPBACK = "127.0.0.1";

/** Listens on a port of loopback, without keeping the process alive. Throws when it cannot. */
export type Listen = (port: number, answer: Answer) => Promise<Listening>;
