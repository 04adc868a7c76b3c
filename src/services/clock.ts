/** Time, injectable so that tests need not wait. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls `fire` once after `ms` milliseconds; returns how to call it off. Does not keep the process alive. */
  after(ms: number, fire: () => void): () => void;
}

/** Node fires a longer timer at once. */
const LONGEST = 2 ** 31 - 1;

/** The time of the machine that it runs on. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, fire) => {
    const timer = setTimeout(fire, Math.min(Math.max(0, ms), LONGEST));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
