import type { Clock } from "./clock.ts";
import { errorMessage, type Log } from "./log.ts";

/** Work that is repeated, and how often. */
export interface RepeatOptions {
  /** Milliseconds from the end of one run of `work` to the start of the next. */
  every: number;
  /** Milliseconds until the first run. Default: `every`. */
  first?: number;
  /** May return the milliseconds until the next run, where that differs from `every`. */
  work: (() => void | Promise<void>) | (() => number);
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
