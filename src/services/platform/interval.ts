import type { Clock } from "./clock.ts";
import { errorMessage, type Log } from "./log.ts";

/** Work that is done again and again. */
export interface RepeatOptions {
  /** In milliseconds, from the end of one time to the beginning of the next. */
  every: number;
  /** Milliseconds to the first time; default: as `every`. */
  first?: number;
  /** May say how many milliseconds it is to the next time, where that is not `every`. */
  work: (() => void | Promise<void>) | (() => number);
  /** What is logged when the work throws; it goes on all the same. */
  fault: string;
}

/** Does recurring work until the returned function is called. */
export const repeat = (clock: Clock, log: Log, { every, first = every, work, fault }: RepeatOptions): (() => void) => {
  let stopped = false;
  const once = async () => {
    let pause = every;
    try {
      const said = await work();
      if (typeof said === "number") pause = said;
    } catch (error) {
      log.error(fault, { reason: errorMessage(error) });
    }
    next(pause);
  };
  const next = (ms: number) => {
    if (!stopped) callOff = clock.after(ms, () => void once());
  };
  let callOff: () => void = () => undefined;
  next(first);
  return () => {
    stopped = true;
    callOff();
  };
};
