import { type Figure, hasTarget, targetOf, verdictOf } from "../figures.ts";
import { inCell } from "./markdown.ts";
import type { Outcome } from "./outcome.ts";

/** The table's head. */
export const HEAD = ["bench", "figure", "measured", "target", "", "ours against what", "measured on"];

/** The columns of a row that others look at. */
export const [BENCH, WHAT, MEASURED, TARGET, VERDICT] = [0, 1, 2, 3, 4] as const;

/** What stands in the place of a verdict when a bench has failed. */
export const FAILED = "FAILED";

/** So many digits, but never fewer than the whole part of the number has. */
const rounded = (value: number, digits: number): number =>
  Math.abs(value) >= 10 ** digits ? Math.round(value) : Number(value.toPrecision(digits));

/** Three digits, or more if asked for: more says nothing about a time. */
export const short = (value: number, digits = 3): string =>
  Number.isNaN(value) ? "nothing" : rounded(value, digits).toLocaleString("en-US", { maximumSignificantDigits: 15 });

/** Enough digits to see on which side of its target a figure is. */
const digitsFor = ({ value, goal, atMost, atLeast }: Figure): number => {
  const sideOf = (shown: number) => [goal, atMost, atLeast].map((bound) => Math.sign(shown - (bound ?? 0)));
  const shows = (digits: number) => String(sideOf(rounded(value, digits))) === String(sideOf(value));
  return [3, 4, 5, 6].find(shows) ?? 15;
};

const withUnit = (value: number, unit: Figure["unit"], digits?: number): string =>
  `${short(value, digits)} ${unit}`.trim();

const comparisonOf = ({ compared }: Figure): string => {
  if (!compared) return "";
  const { own, other, unit } = compared;
  return `${withUnit(own, unit)} against ${withUnit(other, unit)}, ${compared.with}`;
};

const rowOf = (bench: string, figure: Figure, when: string): string[] => [
  bench,
  figure.what,
  withUnit(figure.value, figure.unit, digitsFor(figure)),
  targetOf(figure, (bound) => short(bound)),
  verdictOf(figure),
  comparisonOf(figure),
  when,
];

/**
 * The rows of one bench: its figures that have a target or something to be compared with, and why it has failed, if it has.
 * @param when the day and the machine
 * @param all whether figures without a target and a comparison get a row, too
 */
export const rowsOf = ({ bench, figures, failure }: Outcome, when: string, all = false): string[][] => {
  const shown = figures.filter((figure) => all || hasTarget(figure) || figure.compared !== undefined);
  const rows = shown.map((figure) => rowOf(bench, figure, when));
  if (failure !== undefined) rows.push([bench, failure, "", "", FAILED, "", when]);
  return rows.map((row) => row.map(inCell));
};
