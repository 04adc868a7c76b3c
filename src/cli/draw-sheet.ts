import { machines } from "../machines/chart-json.ts";
import { isInState, sheetOfPlace } from "../machines/place.ts";
import { chartOf } from "../machines/plain-chart.ts";
import { type Box, leadsTo, type Row, type Sheet, sheetsOf } from "../machines/sheets.ts";
import type { Way } from "../machines/way.ts";
import { type ChartName, chartWords, transitionInWords } from "../machines/words.ts";
import { wrap } from "../services/platform/columns.ts";
import type { Terminal } from "./terminal.ts";

type Screen = Pick<Terminal, "columns" | "style">;

const INDENT = 4;

const indented = (text: string, columns: number, indent: number): string[] =>
  wrap(text, columns - indent).map((line) => " ".repeat(indent) + line);

const rowLines = (row: Row, columns: number): string[] => {
  const { words, condition, target, effects } = row;
  const where = target ? ` → ${leadsTo(row)}` : "";
  return [
    ...indented(`${words.join(", ")}${where}`, columns, INDENT),
    ...(condition === undefined ? [] : indented(condition, columns, 2 * INDENT)),
    ...(target ? [] : effects.flatMap((effect) => indented(`» ${effect}`, columns, 2 * INDENT))),
  ];
};

/** Where an actor is in its chart. */
export interface Standing {
  chart: ChartName;
  /** The innermost states that it is in. */
  states: readonly string[];
  way: Way;
}

const arrivalLines = ({ chart, way }: Standing, { path = "" }: Box, columns: number): string[] => {
  const transition = way.arrivals[path];
  return transition === undefined ? [] : indented(`came here: ${transitionInWords(chart, transition)}`, columns, 2);
};

const SIGNS = { now: "●", passed: "✓", other: "○" } as const;

/** The state that it is in is shown with all that leads away from it; the others by their names. */
const boxLines = (box: Box, standing: Standing, { columns, style }: Screen): string[] => {
  const { path, name, description, rows } = box;
  if (path === undefined) return [style("bold", `  ${name}`), ...rows.flatMap((row) => rowLines(row, columns))];
  if (!standing.states.some((state) => isInState(state, path))) {
    const sign = standing.way.passed.includes(path) ? SIGNS.passed : SIGNS.other;
    return wrap(`${sign} ${name}: ${description}`, columns - 2).map((line, at) => (at === 0 ? line : `  ${line}`));
  }
  return [
    style("bold", `${SIGNS.now} ${name}`),
    ...indented(description, columns, 2),
    ...arrivalLines(standing, box, columns),
    ...rows.flatMap((row) => rowLines(row, columns)),
  ];
};

/** What happens in any of the states comes after them. */
const namedFirst = (one: Box, other: Box): number => Number(one.path === undefined) - Number(other.path === undefined);

/** Draws the part of its chart in which an actor is, as lines of a terminal. */
export const drawSheet = (standing: Standing, terminal: Screen): string[] => {
  const { chart, states } = standing;
  const file = sheetOfPlace(chart, states);
  const sheet: Sheet | undefined = sheetsOf(chartOf(machines[chart]), chartWords[chart]).find(
    (one) => one.file === file,
  );
  if (!sheet) return [];
  const legend = `${SIGNS.now} where it is   ${SIGNS.passed} passed on its way   ${SIGNS.other} neither`;
  return [
    terminal.style("bold", sheet.trail.map(({ name }) => name).join(" › ")),
    ...sheet.boxes.toSorted(namedFirst).flatMap((box) => boxLines(box, standing, terminal)),
    ...indented(legend, terminal.columns, 0).map((line) => terminal.style("dim", line)),
  ];
};
