/** The deadlines of charts by their ids, epoch milliseconds. Charts without one, which most are, cost nothing. */
export interface Deadlines {
  /** Sets a chart's deadline; undefined when it has none any more. */
  set(id: string, at: number | undefined): void;
  /** Returns the earliest deadline; undefined when there is none. */
  earliest(): number | undefined;
  /** Returns the charts whose deadline has come. */
  due(now: number): string[];
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Creates an empty list. The earliest deadline is looked for only when the chart that had it has moved or lost it: nearly
 * every event leaves all deadlines as they are.
 */
export const createDeadlines = (): Deadlines => {
  const deadlines = new Map<string, number>();
  let first = NEVER;
  /** False: the first one must be looked for. */
  let isKnown = true;

  return {
    set: (id, at = NEVER) => {
      const before = deadlines.get(id) ?? NEVER;
      if (at === before) return;
      if (at === NEVER) deadlines.delete(id);
      else deadlines.set(id, at);
      if (before === first && before !== NEVER) isKnown = false;
      else first = Math.min(first, at);
    },
    earliest: () => {
      if (!isKnown) first = [...deadlines.values()].reduce((one, other) => Math.min(one, other), NEVER);
      isKnown = true;
      return first === NEVER ? undefined : first;
    },
    due: (now) => [...deadlines].flatMap(([id, at]) => (at <= now ? id : [])),
  };
};
