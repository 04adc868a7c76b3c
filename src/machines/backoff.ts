/** Returns the pause before the next try, in milliseconds: `first` after the first one, doubled each time, up to `longest`. */
export const backoff = (tries: number, { first, longest }: { first: number; longest: number }): number =>
  Math.min(first * 2 ** (tries - 1), longest);
