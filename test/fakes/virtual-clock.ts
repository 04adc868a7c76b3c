import type { Clock } from "../../src/services/platform/clock.ts";

/** A clock that moves only when a test advances it. */
export interface VirtualClock extends Clock {
  /** Advances by `ms` milliseconds: fires the timers that are due, in order, and awaits all their consequences. */
  advance(ms: number): Promise<void>;
  /** Lets `ms` milliseconds pass at once, as on a machine that sleeps: each timer that is due fires when they are over. */
  sleep(ms: number): Promise<void>;
  /** Returns the number of pending timers. */
  pending(): number;
}

/** Resolves after all promises that can settle have done so. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const createVirtualClock = (start = Date.UTC(2026, 0, 1)): VirtualClock => {
  let now = start;
  let timers: { at: number; fire: () => void }[] = [];
  const clock: VirtualClock = {
    now: () => now,
    after: (ms, fire) => {
      const timer = { at: now + Math.max(0, ms), fire };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance: async (ms) => {
      const end = now + ms;
      await settled();
      for (;;) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        timers = timers.filter((timer) => timer !== next);
        now = Math.max(now, next.at);
        next.fire();
        await settled();
      }
      now = end;
      await settled();
    },
    sleep: async (ms) => {
      now += ms;
      await clock.advance(0);
    },
    pending: () => timers.length,
  };
  return clock;
};
