import type { Figures } from "./figures.ts";
import type { Goal } from "./goals.ts";

/** What was measured, as a table for people. */
export function figuresTable(figures: Figures[]): string {
  const rows = figures.map(({ contender, tasks, rounds, latency, children, toldOnce, toldTwice, untold, turns }) => [
    `${tasks}`,
    contender,
    `${rounds}`,
    ...[latency.median, latency.p90, latency.max].map((ms) => `${ms.toFixed(0)} ms`),
    `${toldOnce}/${children}`,
    `${toldTwice}`,
    `${untold}`,
    inShort(turns),
  ]);
  return align([
    ["ends", "who", "rounds", "median", "p90", "max", "told once", "twice", "never", "parent turns"],
    ...rows,
  ]);
}

/** The goals, each with its verdict. */
export function goalsTable(goals: Goal[]): string {
  const rows = goals.map(({ name, measured, limit, met }) => [
    name,
    inShort(measured),
    `<= ${inShort(limit)}`,
    met ? "met" : "MISSED",
  ]);
  return align([["goal of the first release", "measured", "goal", ""], ...rows]);
}

function inShort(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(2);
}

/** Columns as wide as their widest cell. */
function align(rows: string[][]): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(cell.length, widest[column] ?? 0)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
