// ADR-134 in docs/decisions.md
import type { Clock } from "../platform/clock.ts";

/**
 * Milliseconds from the permission to start to the start. Loading a server's code and opening its port takes longer than all
 * else that the plugin does at its start, and OpenCode is at its busiest until it has made its first model request.
 */
const START_AFTER_MS = 2_000;

/** A server that is started a moment after it may be, or as soon as somebody needs it. */
export interface DelayedServer {
  /** Permits the start. */
  permit(): void;
  /** Starts the server, if it may be, and resolves when it serves or has failed to. Resolves at once if it may not be. */
  ready(): Promise<void>;
  /** Stops the server, or cancels its start. */
  stop(): Promise<void>;
}

/**
 * Creates a server that may not be started yet.
 * @param serve starts it; resolves to undefined where there is none
 */
export const createDelayedServer = (
  clock: Clock,
  serve: () => Promise<{ stop(): Promise<void> } | undefined>,
): DelayedServer => {
  let serving: ReturnType<typeof serve> | undefined;
  /** Set while the start is permitted and has not happened. */
  let cancelTimer: (() => void) | undefined;

  const start = () => {
    cancelTimer?.();
    cancelTimer = undefined;
    serving = serve();
  };

  return {
    permit: () => {
      cancelTimer = clock.after(START_AFTER_MS, start);
    },
    ready: async () => {
      if (cancelTimer) start();
      await serving;
    },
    stop: async () => {
      cancelTimer?.();
      cancelTimer = undefined;
      await (await serving)?.stop();
    },
  };
};
