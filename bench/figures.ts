import { writeFileSync } from "node:fs";
import { z } from "zod";

/** JSON has no NaN: a value that could not be measured is null there. */
const Value = z
  .number()
  .nullable()
  .transform((value) => value ?? Number.NaN);

/** `x` is a ratio of two figures, and the empty unit a count. */
const Unit = z.enum(["ms", "MB", "kB", "bytes", "/s", "x", "%", ""]);

/** Something measured, as a bench hands it over to the process that started it. */
export const Figure = z.object({
  what: z.string(),
  value: Value,
  unit: Unit,
  /** Met below this. Without any of these three, a figure is only to compare. */
  goal: z.number().optional(),
  /** Met up to this. */
  atMost: z.number().optional(),
  /** Met from this on. */
  atLeast: z.number().optional(),
  /** What the figure is about, beside something else that was measured in the same run. */
  compared: z.object({ own: Value, other: Value, unit: Unit, with: z.string() }).optional(),
});
export type Figure = z.infer<typeof Figure>;

/** The name of OpenCode's own background task in comparisons. */
export const BUILT_IN = "the built-in";

/** Names the file in which whoever started a bench awaits its figures. */
export const FIGURES_FILE = "BENCH_FIGURES_FILE";

/** A value that is not a number meets no target. */
export const isMissed = ({ value, goal, atMost, atLeast }: Figure): boolean =>
  (goal !== undefined && !(value < goal)) ||
  (atMost !== undefined && !(value <= atMost)) ||
  (atLeast !== undefined && !(value >= atLeast));

export const hasTarget = ({ goal, atMost, atLeast }: Figure): boolean =>
  goal !== undefined || atMost !== undefined || atLeast !== undefined;

/** The target in words, such as "under 10 ms"; empty for a figure without one. */
export const targetOf = (
  { goal, atMost, atLeast, unit }: Figure,
  format: (bound: number) => string = String,
): string => {
  const bounds = { under: goal, "at most": atMost, "at least": atLeast };
  const asked = Object.entries(bounds).flatMap(([words, bound]) =>
    bound === undefined ? [] : `${words} ${format(bound)}`,
  );
  return asked.length === 0 ? "" : `${asked.join(", ")} ${unit}`.trim();
};

export const verdictOf = (figure: Figure): "" | "met" | "MISSED" => {
  if (!hasTarget(figure)) return "";
  return isMissed(figure) ? "MISSED" : "met";
};

const DIGITS: Readonly<Record<Figure["unit"], number>> = {
  ms: 3,
  MB: 1,
  kB: 1,
  bytes: 0,
  "/s": 0,
  x: 2,
  "%": 2,
  "": 0,
};

const line = (figure: Figure): string => {
  const { what, value, unit } = figure;
  const verdict = hasTarget(figure) ? `${verdictOf(figure)} (${targetOf(figure)})` : "";
  return `${what.padEnd(62)} ${value.toFixed(DIGITS[unit]).padStart(10)} ${unit.padEnd(2)}  ${verdict}`.trimEnd();
};

/** Leaves the figures in the file that whoever started this process has named, if anybody has. */
export const handOver = (figures: Figure[]): void => {
  const file = process.env[FIGURES_FILE];
  if (file !== undefined) writeFileSync(file, JSON.stringify(figures));
};

/** Prints the figures, hands them over, and has the process exit with 1 when a goal is missed. */
export const report = (figures: Figure[]): void => {
  const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`;
  process.stdout.write(`${runtime}\n${figures.map(line).join("\n")}\n`);
  handOver(figures);
  if (figures.some(isMissed)) process.exitCode = 1;
};
