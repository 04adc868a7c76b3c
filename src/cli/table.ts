import { columnsOf, cut } from "../services/platform/columns.ts";
import type { Style, Terminal } from "./terminal.ts";

const fill = (text: string, columns: number): string => " ".repeat(Math.max(0, columns - columnsOf(text)));

/** A column of a table. */
export interface Column {
  title: string;
  align?: "right";
  /** Left out on a screen that is too narrow, the column with the highest number first. Absent: always shown. */
  drop?: number;
}

/** A cell: text on one line, without control characters. */
export interface Cell {
  text: string;
  style?: Style;
}

/** A row, and lines that stand below it, from its second column on. */
export interface TableRow {
  cells: Cell[];
  below?: Cell[];
}

const GAP = "  ";

/** Columns that the last column gets at least, as long as there is another that can be left out. */
const LEAST_LAST = 24;

/** Where the columns of a table fit on a screen: the indexes of those that are shown, and their widths. */
const fitColumns = (columns: readonly Column[], rows: readonly TableRow[], screen: number) => {
  const natural = columns.map(({ title }, index) =>
    Math.max(columnsOf(title), ...rows.map(({ cells }) => columnsOf(cells[index]?.text ?? ""))),
  );
  let shown = columns.map((_, index) => index);
  for (;;) {
    const last = shown.at(-1) ?? 0;
    const used = shown.slice(0, -1).reduce((sum, index) => sum + (natural[index] ?? 0) + GAP.length, 0);
    const left = screen - used;
    const droppable = shown.filter((index) => columns[index]?.drop !== undefined);
    if (left >= Math.min(LEAST_LAST, natural[last] ?? 0) || droppable.length === 0) {
      return { shown, widths: natural.with(last, Math.max(1, left)) };
    }
    const [worst] = droppable.sort((one, other) => (columns[other]?.drop ?? 0) - (columns[one]?.drop ?? 0));
    shown = shown.filter((index) => index !== worst);
  }
};

/** Formats a table as wide as the screen at most. The last column gets what the others leave, and is cut. */
export const formatTable = (columns: readonly Column[], rows: readonly TableRow[], screen: Terminal): string[] => {
  const { shown, widths } = fitColumns(columns, rows, screen.columns);
  const last = shown.at(-1);

  const format = (cells: readonly (Cell | undefined)[]): string =>
    shown
      .map((index) => {
        const { text = "", style } = cells[index] ?? {};
        const width = widths[index] ?? 0;
        const fitted = cut(text, width);
        const painted = style === undefined || fitted === "" ? fitted : screen.style(style, fitted);
        if (columns[index]?.align === "right") return fill(fitted, width) + painted;
        return index === last ? painted : painted + fill(fitted, width);
      })
      .join(GAP)
      .trimEnd();

  const indent = GAP.length + (widths[shown[0] ?? 0] ?? 0);
  const below = ({ text, style }: Cell): string => {
    const fitted = cut(text, screen.columns - indent);
    return " ".repeat(indent) + (style === undefined ? fitted : screen.style(style, fitted));
  };

  return [
    format(columns.map(({ title }): Cell => ({ text: title, style: "dim" }))),
    ...rows.flatMap((row) => [format(row.cells), ...(row.below ?? []).map(below)]),
  ];
};
