/** The deadlines of charts by their ids, epoch milliseconds. Charts without one, which most are, cost nothing. */
export interface Deadlines {
  /** Sets a chart's deadline; undefined when it has none any more. */
  set(id: string, at: number | undefined): void;
  /** Returns when the earliest deadline comes; undefined when there is none. */
  earliest(): number | undefined;
  /** Returns the charts whose deadline has come, each with the deadline that it was given. */
  due(now: number): { id: string; deadline: number }[];
  /** Has all deadlines come so many milliseconds earlier: the clock was set back by as much after they were set. */
  bringForward(ms: number): void;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Creates an empty list. The earliest deadline is looked for only when the chart that had it has moved or lost it: nearly
 * every event leaves all deadlines as they are.
 */
export const createDeadlines = (): Deadlines => {
  const deadlines = new Map<string, { deadline: number; comesAt: number }>();
  let first = NEVER;
  /** False: the first one must be looked for. */
  let isKnown = true;

  return {
    set: (id, at = NEVER) => {
      const before = deadlines.get(id);
      if (at === (before?.deadline ?? NEVER)) return;
      if (at === NEVER) deadlines.delete(id);
      else deadlines.set(id, { deadline: at, comesAt: at });
      if (before?.comesAt === first) isKnown = false;
      else first = Math.min(first, at);
    },
    earliest: () => {
      if (!isKnown) first = [...deadlines.values()].reduce((one, { comesAt }) => Math.min(one, comesAt), NEVER);
      isKnown = true;
      return first === NEVER ? undefined : first;
    },
    due: (now) => [...deadlines].flatMap(([id, { deadline, comesAt }]) => (comesAt <= now ? { id, deadline } : [])),
    bringForward: (ms) => {
      for (const times of deadlines.values()) times.comesAt -= ms;
      isKnown = false;
    },
  };
};
