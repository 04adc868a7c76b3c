/** The deadlines of charts by their ids, epoch milliseconds. Charts without one, which most are, cost nothing. */
export interface Deadlines {
  /** Sets a chart's deadline; undefined when it has none any more. */
  set(id: string, at: number | undefined): void;
  /** Returns the earliest deadline; undefined when there is none. */
  earliest(): number | undefined;
  /** Returns the charts whose deadline has come. */
  due(now: number): string[];
}

/**
 * Creates an empty list. The earliest deadline is looked for only when the chart that had it has moved or lost it: nearly
 * every event leaves all deadlines as they are.
 */
export const createDeadlines = (): Deadlines => {
  const deadlines = new Map<string, number>();
  /** `isKnown` false: it must be looked for. */
  let earliest: { isKnown: boolean; at: number | undefined } = { isKnown: true, at: undefined };

  const look = (): number | undefined => {
    let first: number | undefined;
    for (const at of deadlines.values()) if (first === undefined || at < first) first = at;
    return first;
  };

  return {
    set: (id, at) => {
      const before = deadlines.get(id);
      if (at === before) return;
      if (at === undefined) deadlines.delete(id);
      else deadlines.set(id, at);
      if (before !== undefined && before === earliest.at) earliest = { isKnown: false, at: undefined };
      if (at !== undefined && earliest.isKnown && at < (earliest.at ?? Number.POSITIVE_INFINITY)) {
        earliest = { isKnown: true, at };
      }
    },
    earliest: () => {
      if (!earliest.isKnown) earliest = { isKnown: true, at: look() };
      return earliest.at;
    },
    due: (now) => [...deadlines].flatMap(([id, at]) => (at <= now ? id : [])),
  };
};
