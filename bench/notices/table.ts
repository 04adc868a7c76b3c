import type { Figures } from "./figures.ts";
import { type Goal, ratioGoal } from "./goals.ts";
import type { Ratio } from "./ratios.ts";
import type { Spread } from "./spread.ts";

/** What was measured in milliseconds, the medians of the rounds, as a table for people. */
export function figuresTable(figures: Figures[]): string {
  const rows = figures.map(({ contender, tasks, medians, latency, children, deliveredOnce, noticeMessages, turns }) => [
    `${tasks}`,
    contender,
    inMs(medians.latency),
    inMs(latency.max),
    inMs(medians["latency's CPU"]),
    inMs(medians["launching turn"]),
    inMs(medians["launching turn's CPU"]),
    inMs(medians["round's CPU"]),
    rangeOf(noticeMessages, 0),
    rangeOf(turns, 0),
    `${deliveredOnce}/${children}`,
  ]);
  const heads = ["latency", "longest", "its CPU", "launch", "its CPU", "round's CPU", "notices", "turns", "delivered"];
  return align([["ends", "who, ms", ...heads], ...rows], 2);
}

/** Ratios of the same two contenders with their spread, and their goals where they have one. */
export function ratiosTable(ratios: Ratio[]): string {
  const goals = ratios.map(ratioGoal);
  const rows = ratios.map(({ tasks, measure, ofPairs, ofMedians, below, pairs }, index) => {
    const goal = goals[index];
    return [
      `${tasks}`,
      measure,
      ofPairs.median.toFixed(2),
      rangeOf(ofPairs, 2),
      ofMedians.toFixed(2),
      `${below} of ${pairs}`,
      ...(goal ? [`<= ${inShort(goal.limit)}`, verdict(goal)] : []),
    ];
  });
  const title = ratios.slice(0, 1).map(({ of, to }) => `${of} / ${to}`);
  const limit = goals.some((goal) => goal !== undefined) ? ["goal"] : [];
  return align([["ends", ...title, "median", "of pairs", "of medians", "below 1", ...limit], ...rows], 2);
}

/** The goals, each with its verdict. */
export function goalsTable(goals: Goal[]): string {
  const rows = goals.map((goal) => [goal.name, inShort(goal.measured), `<= ${inShort(goal.limit)}`, verdict(goal)]);
  return align([["goal", "measured", "limit"], ...rows], 1);
}

function verdict({ met }: Goal): string {
  return met ? "met" : "MISSED";
}

function inMs(value: number | undefined): string {
  return value === undefined ? "-" : value.toFixed(0);
}

function rangeOf({ least, greatest }: Spread, digits: number): string {
  const [from, to] = [least.toFixed(digits), greatest.toFixed(digits)];
  return from === to ? from : `${from}-${to}`;
}

function inShort(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(2);
}

/** Columns as wide as their widest cell, the first of them flush left and the others, which are numbers, flush right. */
function align(rows: string[][], leftColumns: number): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(cell.length, widths[column] ?? 0);
  }
  const pad = (cell: string, column: number): string => {
    const width = widths[column] ?? 0;
    return column < leftColumns ? cell.padEnd(width) : cell.padStart(width);
  };
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}
