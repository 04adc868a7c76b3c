import { errorMessage, type Log } from "./log.ts";

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

/** Work that is repeated, and how often. */
export interface RepeatOptions {
  /** Milliseconds from the end of one run of `work` to the start of the next. */
  every: number;
  /** Milliseconds until the first run. Default: `every`. */
  first?: number;
  /** May return the milliseconds until the next run, where that differs from `every`. */
  work: (() => void | Promise<void>) | (() => number | Promise<number>);
  /** Logged with the reason when `work` throws. The work is repeated all the same. */
  fault: string;
}

/** Repeats work, one run at a time. Returns a function that stops it; a run under way is not interrupted. */
export const repeat = (clock: Clock, log: Log, { every, first = every, work, fault }: RepeatOptions): (() => void) => {
  let isStopped = false;
  let cancelTimer: () => void = () => undefined;
  const schedule = (ms: number) => {
    if (!isStopped) cancelTimer = clock.after(ms, () => void run());
  };
  const run = async () => {
    let pause = every;
    try {
      const next = await work();
      if (typeof next === "number") pause = next;
    } catch (error) {
      log.error(fault, { reason: errorMessage(error) });
    }
    schedule(pause);
  };
  schedule(first);
  return () => {
    isStopped = true;
    cancelTimer();
  };
};
