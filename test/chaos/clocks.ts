import type { VirtualClock } from "../fakes/virtual-clock.ts";

/** The clock of a machine: time passes on it as everywhere, but what it shows may be wrong, and may be set. */
export interface MachineClock extends VirtualClock {
  /** Sets it forward by so many milliseconds, or back where that is negative. */
  set(ms: number): void;
  /** The most that it was ahead, in milliseconds. */
  mostAhead(): number;
  /** Sets it to be ahead by so many milliseconds. */
  setAhead(ms: number): void;
}

const createMachineClock = (real: VirtualClock, offset: number): MachineClock => {
  let ahead = offset;
  let mostAhead = offset;
  const setAhead = (ms: number) => {
    ahead = ms;
    mostAhead = Math.max(mostAhead, ms);
  };
  return {
    ...real,
    now: () => real.now() + ahead,
    set: (ms) => setAhead(ahead + ms),
    mostAhead: () => mostAhead,
    setAhead,
  };
};

/**
 * Creates the clocks of processes.
 * @param offsets how far off each one's clock is, in milliseconds: each is on a machine of its own. Undefined: all are on one
 * machine, whose clock is right at first.
 */
export const createClocks = (real: VirtualClock, offsets: readonly number[] | undefined) => {
  let areOff = offsets?.some((offset) => offset !== 0) ?? false;
  let setAt = Number.NEGATIVE_INFINITY;
  const watched = (clock: MachineClock): MachineClock => ({
    ...clock,
    set: (ms) => {
      areOff = true;
      setAt = real.now();
      clock.set(ms);
    },
  });
  const machines = (offsets ?? [0]).map((offset) => watched(createMachineClock(real, offset)));
  const [first = watched(createMachineClock(real, 0))] = machines;
  return {
    of: (place: number) => (offsets ? (machines[place] ?? first) : first),
    /** The machine that a process is on, as its owner's row in the store says. */
    machineOf: (place: number) => (offsets ? `machine ${place}` : "here"),
    /** True where one of them shows, or has shown, another time than the true one. */
    areOff: () => areOff,
    /** When one of them was set last, in truth: epoch milliseconds. */
    setAt: () => setAt,
    /** Sets all clocks to the newest time that one of them has shown: nothing is of the future any more. */
    catchUp: () => {
      const newest = Math.max(...machines.map((clock) => clock.mostAhead()));
      for (const clock of machines) clock.setAhead(newest);
    },
  };
};

/** The clocks of a schedule's processes. */
export type Clocks = ReturnType<typeof createClocks>;
