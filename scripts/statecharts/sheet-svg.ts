import { readFileSync } from "node:fs";
import { type Box, leadsTo, type Row, type Sheet } from "../../src/machines/sheets.ts";
import { type Font, linesOf, widthOf } from "./text-width.ts";

/** The most that a sheet may measure: a window in which it is read without scrolling. */
export const MOST = { width: 1_280, height: 800 };

export const STYLE = readFileSync(new URL("../../inspection/chart/sheet.css", import.meta.url), "utf8").trim();

export const TEXT: Font = { size: 12 };
export const STRONG: Font = { size: 12, isBold: true };
const TITLE: Font = { size: 16, isBold: true };
export const LINE = 16;
export const PADDING = 8;
export const GAP = 14;
export const MARGIN = 16;
/** Between two lines that run beside each other. */
const LANE = 6;
const WIDEST_BOX = 420;
const COLORS = 9;

const IN_FULL = "Bold: what happens, if what, and where that leads; ↗ is on another sheet.";
const SUMMED_UP = "Italics sum up what happens inside: click the name.";
const ORDER = "Of rows for one event, the first that holds is taken; a state's own rows go first.";
const OWN_FIRST = "A state's own rows go first.";
const SIGNS = "» what is asked for; ↺ the state begins anew.";
const USUAL = "Thick: the way of a task that goes well.";
const TOO_LATE = "What comes too late changes nothing.";

const footOf = ({ boxes }: Sheet): string => {
  const isInFull = boxes.flatMap(({ rows }) => rows).map(({ transitions }) => transitions.length > 0);
  const inFull = isInFull.includes(true) ? [IN_FULL, ORDER, SIGNS] : [];
  const isForAny = boxes.some(({ path }) => path === undefined);
  const ownFirst = isForAny && inFull.length === 0 ? [OWN_FIRST] : [];
  return [...inFull, ...(isInFull.includes(false) ? [SUMMED_UP] : []), ...ownFirst, TOO_LATE].join(" ");
};

export const escaped = (text: string): string =>
  text.replaceAll("`", "").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

const sentence = (texts: (string | undefined)[]): string => texts.filter(Boolean).join(" ");

export interface Line {
  text: string;
  class: string;
  link?: string | undefined;
}

/** A row as it is set: its lines, and what stands at the right of one of them. */
interface SetRow {
  row: Row;
  lines: Line[];
  target: string;
  /** The line beside which the target stands. */
  targetLine: number;
  height: number;
}

interface SetBox {
  box: Box;
  head: Line[];
  rows: SetRow[];
  height: number;
}

/** How many ends a run can have: a row that leads to each of them says so in two words. */
const ENDS = 3;

/** Returns where a row leads to, in words that fit into a box: of a state deep inside, its name and that of the one around it. */
const targetInShort = (row: Row): string | undefined => {
  const [name = "", outcome] = leadsTo(row)?.split(": ") ?? [];
  const path = name.split(" › ");
  const shown = path.length > 2 ? ["…", ...path.slice(-2)].join(" › ") : name;
  if (outcome === undefined) return shown;
  return `${shown}: ${outcome.split(" / ").length === ENDS ? "any end" : outcome}`;
};

const namedTarget = (row: Row, box: Box): string => {
  const { target, transitions } = row;
  if (!target) return transitions.some(({ effects }) => effects.length > 0) ? "" : "stays";
  if (target.path === box.path) return "↺";
  return `→ ${targetInShort(row)}${target.box === undefined ? " ↗" : ""}`;
};

const setRow = (row: Row, box: Box, width: number): SetRow => {
  const target = namedTarget(row, box);
  const isSummary = row.transitions.length === 0;
  const left = width - 2 * PADDING - (target === "" ? 0 : widthOf(target, STRONG) + PADDING);
  const words = row.words.join(", ");
  const font = isSummary ? TEXT : STRONG;
  const isBeside = left > 100;
  const own = linesOf(words, isBeside ? left : width - 2 * PADDING, font);
  const condition = row.condition === undefined ? [] : linesOf(row.condition, width - 3 * PADDING, TEXT);
  // What leads on has effects that follow from where it leads to: only those of what stays are worth a line.
  const asks = row.target ? [] : row.effects.flatMap((effect) => linesOf(`» ${effect}`, width - 3 * PADDING, TEXT));
  const lines: Line[] = [
    ...own.map((text) => ({ text, class: isSummary ? "sum" : "what" })),
    // The target has a line of its own where there is no room beside the words.
    ...(isBeside ? [] : [{ text: "", class: "what" }]),
    ...condition.map((text) => ({ text, class: "if" })),
    ...asks.map((text) => ({ text, class: "asks in" })),
  ];
  return { row, lines, target, targetLine: isBeside ? 0 : own.length, height: lines.length * LINE + 1 };
};

const setBox = (box: Box, width: number): SetBox => {
  const inner = width - 2 * PADDING;
  const head: Line[] = [
    { text: `${box.name}${box.file ? " ▸" : ""}`, class: "name", link: box.file },
    ...(box.description === "" ? [] : linesOf(box.description, inner, TEXT).map((text) => ({ text, class: "is" }))),
    ...box.effects.flatMap((effect) => linesOf(`» ${effect}`, inner, TEXT).map((text) => ({ text, class: "asks" }))),
  ];
  const rows = box.rows.map((row) => setRow(row, box, width));
  const height =
    PADDING + head.length * LINE + (rows.length > 0 ? 6 : 0) + rows.reduce((sum, row) => sum + row.height, 0) + PADDING;
  return { box, head, rows, height };
};

/** Puts boxes into so many columns, in their order, so that the highest column is as low as it can be. */
export const columnsOf = <Item extends { height: number }>(boxes: Item[], count: number): Item[][] => {
  const heights = boxes.map(({ height }) => height + GAP);
  const fill = (most: number): Item[][] => {
    const columns: Item[][] = [[]];
    let used = 0;
    for (const [index, box] of boxes.entries()) {
      const height = heights[index] ?? 0;
      if (used > 0 && used + height > most) {
        columns.push([]);
        used = 0;
      }
      columns.at(-1)?.push(box);
      used += height;
    }
    return columns;
  };
  const candidates = boxes.flatMap((_, from) =>
    boxes.slice(from).map((__, more) => heights.slice(from, from + more + 1).reduce((sum, one) => sum + one, 0)),
  );
  const most = candidates.toSorted((a, b) => a - b).find((height) => fill(height).length <= count);
  return fill(most ?? Number.POSITIVE_INFINITY);
};

export const heightOf = (columns: { height: number }[][]): number =>
  Math.max(...columns.map((column) => column.reduce((sum, { height }) => sum + height + GAP, -GAP)));

interface Placed extends SetBox {
  column: number;
  x: number;
  y: number;
}

/** The boxes on the sheet to which something leads from another one, each with the number of its lane. */
const lanesOf = ({ boxes }: Sheet): Map<string, number> => {
  const reached = new Set(
    boxes.flatMap(({ path, rows }) =>
      rows.flatMap(({ target }) => (target?.box && target.box !== path ? target.box : [])),
    ),
  );
  return new Map([...reached].map((path, lane) => [path, lane]));
};

const arranged = (sheet: Sheet, lanes: number) => {
  const gutter = 18 + lanes * LANE;
  const choices = [1, 2, 3, 4, 5].map((count) => {
    const room = MOST.width - 2 * MARGIN - (count + 1) * gutter;
    const width = Math.min(WIDEST_BOX, Math.floor(room / count));
    const columns = columnsOf(
      sheet.boxes.map((box) => setBox(box, width)),
      count,
    );
    return { width, columns, height: heightOf(columns) };
  });
  // A sheet that is wide and low is read more easily than one that is narrow and high.
  const most = MOST.height - 150 - lanes * LANE;
  const fitting =
    choices.find(({ height }) => height <= most * 0.8) ?? choices.toSorted((a, b) => a.height - b.height)[0];
  if (!fitting) throw new Error(`the sheet ${sheet.file} has no boxes`);
  return { ...fitting, gutter };
};

export const drawnText = (x: number, y: number, { text, class: name, link }: Line, anchor = ""): string => {
  const drawn = `<text x="${x}" y="${y}" class="${name}"${anchor}>${escaped(text)}</text>`;
  return link ? `<a href="${link}.svg">${drawn}</a>` : drawn;
};

const tooltipOf = ({ transitions }: Row): string =>
  escaped(
    transitions
      .map(({ event, description, effects }) =>
        sentence([
          event && `${event}:`,
          description,
          effects.length > 0 ? `Requests ${effects.join(", ")}.` : undefined,
        ]),
      )
      .join("\n"),
  );

/** A way from one state to another one, by their paths. */
interface Move {
  from: string;
  to: string;
}

/** Draws a sheet as SVG, in light and dark colours. The `usual` ways stand out from the others. Default: none does. */
export const sheetSvg = (sheet: Sheet, usual: readonly Move[] = []): string => {
  const lanes = lanesOf(sheet);
  const { width, columns, gutter } = arranged(sheet, lanes.size);
  const right = MARGIN + columns.length * (width + gutter) + gutter;
  const trail = sheet.trail.map(({ name }) => name).join(" › ");
  const total = Math.max(right + MARGIN, widthOf(trail, TITLE) + 2 * MARGIN, 640);
  const about = linesOf(sheet.description, total - 2 * MARGIN, TEXT);
  const foot = linesOf(sentence([usual.length > 0 ? USUAL : undefined, footOf(sheet)]), total - 2 * MARGIN, TEXT);
  const channel = MARGIN + 20 + about.length * LINE + 8;
  const top = channel + lanes.size * LANE + 10;

  const placed: Placed[] = columns.flatMap((column, index) => {
    let y = top;
    return column.map((box) => {
      const at = { ...box, column: index, x: MARGIN + gutter + index * (width + gutter), y };
      y += box.height + GAP;
      return at;
    });
  });
  const bottom = top + heightOf(columns);
  const height = bottom + 14 + foot.length * LINE + 6;

  const laneX = (column: number, lane: number): number => MARGIN + column * (width + gutter) + 9 + lane * LANE;
  const colorOf = (path: string): string => `c${(lanes.get(path) ?? 0) % COLORS}`;
  const entryOf = ({ y, box }: Placed): number => y + PADDING + 7 + (box.isInitial ? 4 : 0);

  const lineTo = (from: Placed, y: number, path: string): string => {
    const to = placed.find(({ box }) => box.path === path);
    const lane = lanes.get(path);
    if (!to || lane === undefined) return "";
    const leavesRight = to.column > from.column;
    const exit = from.column + (leavesRight ? 1 : 0);
    const start = leavesRight ? from.x + width : from.x;
    const out = laneX(exit, lane);
    const into = laneX(to.column, lane);
    const above = channel + lane * LANE;
    const way = exit === to.column ? `V${entryOf(to)}` : `V${above}H${into}V${entryOf(to)}`;
    const isUsual = usual.some((move) => move.from === from.box.path && move.to === path);
    const weight = isUsual ? " usual" : usual.length > 0 ? " rare" : "";
    return `<path class="way ${colorOf(path)}${weight}" d="M${start} ${y}H${out}${way}H${to.x - 7}"/><circle class="${colorOf(path)}${weight}" cx="${start}" cy="${y}" r="2.5"/>`;
  };

  const drawBox = (at: Placed): string => {
    const { box, head, rows, x, y } = at;
    const parts: string[] = [];
    let line = y + PADDING + 11;
    for (const text of head) {
      parts.push(drawnText(x + PADDING, line, text));
      line += LINE;
    }
    if (rows.length > 0) {
      parts.push(`<path class="rule" d="M${x} ${line - 9}H${x + width}"/>`);
      line += 6;
    }
    for (const { row, lines, target, targetLine, height: rowHeight } of rows) {
      const first = line;
      const color = row.target?.box && row.target.box !== box.path ? colorOf(row.target.box) : "away";
      const texts = lines.flatMap((one, index) => {
        const left = x + PADDING + (one.class === "what" || one.class === "sum" ? 0 : PADDING);
        return one.text === "" ? [] : drawnText(left, first + index * LINE, one);
      });
      const named =
        target === ""
          ? ""
          : drawnText(
              x + width - PADDING,
              first + targetLine * LINE,
              {
                text: target,
                class: `to ${color}`,
                link: row.target?.box === undefined ? row.target?.file : undefined,
              },
              ' text-anchor="end"',
            );
      const way = row.target?.box && row.target.box !== box.path ? lineTo(at, first - 4, row.target.box) : "";
      const title = `<title>${tooltipOf(row)}</title>`;
      parts.push(`<g data-through="${row.through.join(" ")}">${title}${way}${texts.join("")}${named}</g>`);
      line += rowHeight;
    }
    const kind = box.path === undefined ? "any" : box.isFinal ? "final" : box.file ? "more" : "";
    const title = box.path === undefined ? "" : `<title>${escaped(box.path)}</title>`;
    return `<g class="box ${kind}" data-state="${box.path ?? ""}">${title}<rect x="${x}" y="${y}" width="${width}" height="${at.height}" rx="6"/>${parts.join("")}</g>`;
  };

  const heads = placed.flatMap((at) =>
    at.box.path !== undefined && lanes.has(at.box.path)
      ? `<path class="tip ${colorOf(at.box.path)}" d="M${at.x - 8} ${entryOf(at) - 4}l8 4l-8 4z"/>`
      : [],
  );
  const starts = placed.flatMap((at) =>
    at.box.isInitial
      ? `<circle class="start" cx="${at.x + width - 12}" cy="${at.y + 13}" r="4.5"><title>It begins here.</title></circle>`
      : [],
  );
  const crumbs = sheet.trail.map(({ name, file }, index) =>
    index < sheet.trail.length - 1
      ? `<a href="${file}.svg"><tspan class="link">${escaped(name)}</tspan></a> › `
      : escaped(name),
  );

  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(total)}" height="${Math.ceil(height)}" viewBox="0 0 ${Math.ceil(total)} ${Math.ceil(height)}" role="img" aria-label="${escaped(trail)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="sheet" width="100%" height="100%"/>`,
    `<text x="${MARGIN}" y="${MARGIN + 12}" class="title">${crumbs.join("")}</text>`,
    ...about.map((text, index) => drawnText(MARGIN, MARGIN + 32 + index * LINE, { text, class: "is" })),
    ...placed.map(drawBox),
    ...heads,
    ...starts,
    ...foot.map((text, index) => drawnText(MARGIN, bottom + 26 + index * LINE, { text, class: "foot" })),
    "</svg>",
    "",
  ].join("\n");
};
