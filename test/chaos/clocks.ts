import type { VirtualClock } from "../fakes/virtual-clock.ts";

/** The clock of a machine: time passes on it as everywhere, but what it shows may be wrong, and may be set. */
export interface MachineClock extends VirtualClock {
  /** Sets it forward by so many milliseconds, or back where that is negative. */
  set(ms: number): void;
  /** The most that it was ahead, in milliseconds. */
  mostAhead(): number;
  /** Sets it to be ahead by so many milliseconds. */
  setAhead(ms: number): void;
  /** Returns when it last showed that time; both are epoch milliseconds. */
  whenItShowed(at: number): number;
}

const createMachineClock = (real: VirtualClock, offset: number): MachineClock => {
  /** How far off it was, and since when. */
  const settings = [{ since: Number.NEGATIVE_INFINITY, offset }];
  const current = () => settings.at(-1)?.offset ?? 0;
  const set = (to: number) => void settings.push({ since: real.now(), offset: to });
  return {
    ...real,
    now: () => real.now() + current(),
    set: (ms) => set(current() + ms),
    mostAhead: () => Math.max(...settings.map(({ offset: ahead }) => ahead)),
    setAhead: (ms) => {
      if (ms !== current()) set(ms);
    },
    whenItShowed: (at) => {
      const known = settings.findLast(({ since, offset: ahead }) => at - ahead >= since && at - ahead <= real.now());
      return at - (known?.offset ?? 0);
    },
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
