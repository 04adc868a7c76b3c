/** Returns the pairs of neighbouring letters and digits in a name, and how often it has each. Case and punctuation do not count. */
const pairsOf = (name: string): Map<string, number> => {
  const letters = name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
  const pairs = new Map<string, number>();
  for (let index = 0; index + 1 < letters.length; index += 1) {
    const pair = letters.slice(index, index + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
};

const total = (pairs: ReadonlyMap<string, number>): number =>
  [...pairs.values()].reduce((sum, count) => sum + count, 0);

/**
 * Returns the names that are most like the one that was asked for, the likest first; those that have nothing in common with
 * it come last. Compares pairs of letters (Dice's coefficient), since names of models are misremembered rather than
 * mistyped: parts are missing, in another order or separated in another way.
 */
export const nearestNames = (wanted: string, names: readonly string[], count: number): string[] => {
  const wantedPairs = pairsOf(wanted);
  const likeness = (name: string): number => {
    const pairs = pairsOf(name);
    const shared = [...wantedPairs].reduce((sum, [pair, times]) => sum + Math.min(times, pairs.get(pair) ?? 0), 0);
    return (2 * shared) / Math.max(1, total(wantedPairs) + total(pairs));
  };
  return names
    .map((name) => ({ name, like: likeness(name) }))
    .sort((a, b) => b.like - a.like)
    .slice(0, count)
    .map(({ name }) => name);
};
