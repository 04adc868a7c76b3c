import type { Clock } from "../platform/clock.ts";

/**
 * Milliseconds from the permission to start to the start. Loading a server's code and opening its port takes longer than all
 * else that the plugin does at its start, and OpenCode is at its busiest until it has made its first model request.
 */
const START_AFTER_MS = 2_000;

/**
 * Creates a server that is started a moment after it may be, or as soon as somebody needs it.
 * @param serve starts it; resolves to undefined where there is none
 */
export const createDelayedServer = (clock: Clock, serve: () => Promise<{ stop(): Promise<void> } | undefined>) => {
  let serving: ReturnType<typeof serve> | undefined;
  /** Set while the start is permitted and has not happened. */
  let cancelTimer: (() => void) | undefined;

  const start = () => {
    cancelTimer?.();
    cancelTimer = undefined;
    serving = serve();
  };

  return {
    /** Permits the start. */
    permit: () => {
      cancelTimer = clock.after(START_AFTER_MS, start);
    },
    /** Starts the server, if it may be, and resolves when it serves or has failed to. Resolves at once if it may not be. */
    ready: async () => {
      if (cancelTimer) start();
      await serving;
    },
    /** Stops the server, or cancels its start. */
    stop: async () => {
      cancelTimer?.();
      cancelTimer = undefined;
      await (await serving)?.stop();
    },
  };
};
