/** The time and its timers. Injected, so that tests need not wait. */
export interface Clock {
  /** Returns the current time in epoch milliseconds. */
  now(): number;
  /**
   * Calls `fire` once, after `ms` milliseconds; a negative delay counts as 0. Returns a function that cancels the timer.
   * A pending timer does not keep the process alive.
   */
  after(ms: number, fire: () => void): () => void;
}

/** The longest delay that Node's timers support: a longer one would fire at once. About 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. A delay of more than `MAX_TIMER_MS` is split into several timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, fire) => {
    let timer: NodeJS.Timeout;
    const start = (left: number) => {
      const step = Math.min(Math.max(0, left), MAX_TIMER_MS);
      timer = setTimeout(() => (left > step ? start(left - step) : fire()), step);
      timer.unref();
    };
    start(ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Resolves after `ms` milliseconds of that clock. It cannot be cancelled, and does not keep the process alive.
 * @example
 * while (!(await isReady())) await sleep(clock, 500);
 */
export const sleep = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.after(ms, resolve);
  });
