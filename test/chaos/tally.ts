/** Counts in how many schedules each named situation has occurred. */
export interface Tally {
  /** Notes that a situation occurs. @throws Error for a name that is none of them */
  note(name: string): void;
  /** Notes that the schedule is over. */
  endSchedule(): void;
  /** In how many schedules each has occurred, by name. */
  counts(): ReadonlyMap<string, number>;
}

/** Creates counters of these situations. */
export const createTally = (names: Iterable<string>): Tally => {
  const counts = new Map([...names].map((name) => [name, 0]));
  let inThisSchedule = new Set<string>();
  return {
    note: (name) => {
      if (!counts.has(name)) throw new Error(`no situation is called "${name}"`);
      inThisSchedule.add(name);
    },
    endSchedule: () => {
      for (const name of inThisSchedule) counts.set(name, (counts.get(name) ?? 0) + 1);
      inThisSchedule = new Set();
    },
    counts: () => counts,
  };
};
