/** Several measurements of the same thing, in its unit. */
export type Spread = { median: number; least: number; greatest: number };

/** NaN throughout when nothing was measured, which meets no goal. */
export function spreadOf(values: number[]): Spread {
  return { median: quantile(values, 0.5), least: quantile(values, 0), greatest: quantile(values, 1) };
}

/** The value that a share (0 to 1) of all values does not exceed, between two neighbours by their distance from it. */
export function quantile(values: number[], share: number): number {
  const ascending = values.toSorted((a, b) => a - b);
  const place = share * (ascending.length - 1);
  const [below, above] = [ascending[Math.floor(place)], ascending[Math.ceil(place)]];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
