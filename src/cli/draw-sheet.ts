import { machines } from "../machines/chart-json.ts";
import { chartOf } from "../machines/plain-chart.ts";
import { type Box, chartWords, leadsTo, type Row, type Sheet, sheetsOf } from "../machines/sheets.ts";
import { isInState, placeOf } from "../machines/task/place.ts";
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

/** The state that a task is in is shown with all that leads away from it; the others by their names. */
const boxLines = (box: Box, isNow: boolean, { columns, style }: Screen): string[] => {
  const name = `${isNow ? "●" : "○"} ${box.name}`;
  if (!isNow && box.path !== undefined) return indented(`${name}: ${box.description}`, columns, 0);
  return [
    box.path === undefined ? style("bold", `  ${box.name}`) : style("bold", name),
    ...(isNow ? indented(box.description, columns, 2) : []),
    ...box.rows.flatMap((row) => rowLines(row, columns)),
  ];
};

/** What happens in any of the states comes after them. */
const namedFirst = (one: Box, other: Box): number => Number(one.path === undefined) - Number(other.path === undefined);

/** Draws the part of a task's chart in which it is now, as lines of a terminal. `states` are the states that it is in. */
export const drawSheet = (states: readonly string[], terminal: Screen): string[] => {
  const file = `task.${placeOf(states)}`;
  const sheet: Sheet | undefined = sheetsOf(chartOf(machines.task), chartWords.task).find((one) => one.file === file);
  if (!sheet) return [];
  const isNow = ({ path }: Box) => path !== undefined && states.some((state) => isInState(state, path));
  return [
    terminal.style("bold", sheet.trail.map(({ name }) => name).join(" › ")),
    ...sheet.boxes.toSorted(namedFirst).flatMap((box) => boxLines(box, isNow(box), terminal)),
  ];
};
