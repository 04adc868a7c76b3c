/** Creates counters of these situations. */
export const createTally = (names: Iterable<string>) => {
  const counts = new Map([...names].map((name) => [name, 0]));
  let inThisSchedule = new Set<string>();
  return {
    /** Notes that a situation occurs. @throws Error for a name that is none of them */
    note: (name: string) => {
      if (!counts.has(name)) throw new Error(`no situation is called "${name}"`);
      inThisSchedule.add(name);
    },
    /** Notes that the schedule is over. */
    endSchedule: () => {
      for (const name of inThisSchedule) counts.set(name, (counts.get(name) ?? 0) + 1);
      inThisSchedule = new Set();
    },
    /** In how many schedules each has occurred, by name. */
    counts: () => counts,
  };
};

/** Counts in how many schedules each named situation has occurred. */
export type Tally = ReturnType<typeof createTally>;
