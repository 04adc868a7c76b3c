import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Something measured. */
export interface Figure {
  what: string;
  value: number;
  /** `x` is a ratio of two figures. */
  unit: "ms" | "MB" | "kB" | "/s" | "x";
  /** Met below this. Without this and `atLeast`, a figure is only to compare. */
  goal?: number;
  /** Met from this on. */
  atLeast?: number;
}

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

const isMissed = ({ value, goal, atLeast }: Figure): boolean =>
  (goal !== undefined && !(value < goal)) || (atLeast !== undefined && !(value >= atLeast));

const verdictOf = (figure: Figure): string => {
  const { goal, atLeast, unit } = figure;
  const bounds = [goal === undefined ? "" : `under ${goal}`, atLeast === undefined ? "" : `at least ${atLeast}`];
  const asked = bounds.filter((bound) => bound !== "").join(", ");
  if (asked === "") return "";
  return `${isMissed(figure) ? "MISSED" : "met"} (${asked} ${unit})`;
};

const DIGITS: Readonly<Record<Figure["unit"], number>> = { ms: 3, MB: 1, kB: 1, "/s": 0, x: 2 };

const line = (figure: Figure): string => {
  const { what, value, unit } = figure;
  return `${what.padEnd(62)} ${value.toFixed(DIGITS[unit]).padStart(10)} ${unit.padEnd(2)}  ${verdictOf(figure)}`;
};

/** Prints the figures, and has the process exit with 1 when a goal is missed. */
export const report = (figures: Figure[]): void => {
  const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`;
  process.stdout.write(`${runtime}\n${figures.map(line).join("\n")}\n`);
  if (figures.some(isMissed)) process.exitCode = 1;
};
