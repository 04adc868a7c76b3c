/** Time, injectable so that tests need not wait. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `fire` once after `ms` milliseconds; returns how to call it off. Does not keep the process alive. */
  after(ms: number, fire: () => void): () => void;
}

/** Resolves after `ms` milliseconds. */
export const sleep = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));

/** Node fires a longer timer at once: one of 25 days and more takes several. */
const LONGEST = 2 ** 31 - 1;

/** The time of the machine that it runs on. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, fire) => {
    let timer: NodeJS.Timeout;
    const set = (left: number) => {
      const step = Math.min(Math.max(0, left), LONGEST);
      timer = setTimeout(() => (left > step ? set(left - step) : fire()), step);
      timer.unref();
    };
    set(ms);
    return () => clearTimeout(timer);
  },
};
