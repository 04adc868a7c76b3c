/** Something measured. */
export interface Figure {
  what: string;
  value: number;
  unit: "ms" | "MB";
  /** Met below this; undefined: only to compare. */
  goal?: number;
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

const line = ({ what, value, unit, goal }: Figure): string => {
  const verdict = goal === undefined ? "" : value < goal ? `met (under ${goal} ${unit})` : `MISSED (${goal} ${unit})`;
  return `${what.padEnd(62)} ${value.toFixed(unit === "ms" ? 3 : 1).padStart(10)} ${unit}  ${verdict}`;
};

/** Prints the figures, and has the process exit with 1 when a goal is missed. */
export const report = (figures: Figure[]): void => {
  const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`;
  process.stdout.write(`${runtime}\n${figures.map(line).join("\n")}\n`);
  if (figures.some(({ value, goal }) => goal !== undefined && !(value < goal))) process.exitCode = 1;
};
