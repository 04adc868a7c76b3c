import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Milliseconds that work took. */
export const timed = (work: () => void): number => {
  const since = performance.now();
  work();
  return performance.now() - since;
};

/** The value that a share of all values, 0 to 1, does not exceed. */
export const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

export const median = (values: number[]): number => percentile(values, 0.5);

// Node lends its collector only to those who ask for it by this flag, which may be set late.
setFlagsFromString("--expose-gc");
const collect: () => void = process.versions.bun
  ? () => (globalThis as { Bun?: { gc(force: boolean): void } }).Bun?.gc(true)
  : runInNewContext("gc");

/** Megabytes in use after a thorough collection. */
export const memory = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
};
