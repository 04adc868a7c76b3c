import { readFileSync } from "node:fs";
import { type State, withAllInside } from "../../src/machines/plain-chart.ts";
import type { Box, Sheet } from "../../src/machines/sheets.ts";
import { inWords } from "../../src/machines/words.ts";
import {
  columnsOf,
  drawnText,
  escaped,
  GAP,
  heightOf,
  LINE,
  type Line,
  MARGIN,
  PADDING,
  STRONG,
  STYLE,
  TEXT,
} from "./sheet-svg.ts";
import type { Story } from "./stories.ts";
import { linesOf, widthOf } from "./text-width.ts";
import type { Step } from "./told.ts";

const STORY_STYLE = readFileSync(new URL("story.css", import.meta.url), "utf8").trim();

const WIDTH = 1_280;
/** Where each column begins, and how wide its texts are. */
const NUMBERS = { x: MARGIN + 10 };
const TIMES = { x: MARGIN + 32 };
const EVENTS = { x: MARGIN + 84, width: 312 };
const STATES = { x: EVENTS.x + EVENTS.width + 14, width: 332 };
const LIFE = { x: STATES.x + STATES.width + 16, columns: 2 };
const BOX = (WIDTH - MARGIN - LIFE.x - GAP) / LIFE.columns;

/** Between two steps. */
const BETWEEN = 5;
/** Of a step: its number is round. */
const LOWEST = 20;

const LEGEND =
  "Times count from the launch. The way that this task took through its life is lit: the numbers are those of the steps.";

/** The regions that are shown beside the life of a task where something happens in them. */
const BESIDE = ["attention", "steering", "notice"];

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

/** Names a state; that of the run and the status, which all know, without its region. */
const nameOf = (path: string): string =>
  path
    .replace(/^(?:run|lifecycle)\./, "")
    .split(".")
    .map(inWords)
    .join(" › ");

const lines = (text: string, width: number, name: string): Line[] =>
  linesOf(text, width, name === "lit" ? STRONG : TEXT).map((line) => ({ text: line, class: name }));

const drawLines = (x: number, y: number, all: Line[]): string =>
  all.map((line, index) => drawnText(x, y + index * LINE, line)).join("");

interface SetStep {
  at: number;
  event: Line[];
  states: Line[];
  height: number;
}

const capitalized = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

/** Sets the steps. What a state is, and what needs many words, is said the first time alone. */
const setSteps = (steps: readonly Step[], descriptions: ReadonlyMap<string, string>): SetStep[] => {
  const said = new Set<string>();
  const isNew = (text: string): boolean => {
    const isSaid = said.has(text);
    said.add(text);
    return !isSaid;
  };
  const inFull = (words: string, sentences: string): Line[] => {
    const full = lines(sentences, EVENTS.width, "says");
    return isNew(sentences) || full.length < 3 ? full : lines(capitalized(words), EVENTS.width, "says");
  };
  return steps.map(({ at, words, sentences, condition, entered, noted }) => {
    const about = [
      ...entered.flatMap((path) => descriptions.get(path) ?? []).filter(isNew),
      ...(noted.length > 0 ? [`Then: ${noted.join(", ")}.`] : []),
    ];
    const event = [...inFull(words, sentences), ...(condition ? lines(condition, EVENTS.width, "if") : [])];
    const states = [
      ...lines(entered.map(nameOf).join(", "), STATES.width, "lit"),
      ...(about.length > 0 ? lines(about.join(" "), STATES.width, "is") : []),
    ];
    return { at, event, states, height: Math.max(event.length * LINE, states.length * LINE, LOWEST) + BETWEEN };
  });
};

const drawStep = ({ at, event, states }: SetStep, number: number, y: number): string =>
  [
    number > 1 ? `<path class="rule" d="M${TIMES.x} ${y - 15}H${STATES.x + STATES.width}"/>` : "",
    `<circle class="step" cx="${NUMBERS.x}" cy="${y - 4}" r="10"/>`,
    `<text x="${NUMBERS.x}" y="${y}" class="lit" text-anchor="middle">${number}</text>`,
    drawnText(TIMES.x, y, { text: seconds(at), class: "is" }),
    drawLines(EVENTS.x, y, event),
    drawLines(STATES.x, y, states),
  ].join("");

/** A row of a box: where it leads to stands at the right of its last line, or below. */
interface SetRow {
  lines: Line[];
  target: Line | undefined;
}

interface SetBox {
  path: string | undefined;
  name: Line;
  isPassed: boolean;
  rows: SetRow[];
  height: number;
}

const setRow = (words: string, target: string, isLit: boolean): SetRow => {
  const name = isLit ? "lit" : "unlit";
  const own = lines(words, BOX - 2 * PADDING, name);
  if (target === "") return { lines: own, target: undefined };
  const font = isLit ? STRONG : TEXT;
  const isBeside = widthOf(own.at(-1)?.text ?? "", font) + widthOf(target, font) + 3 * PADDING <= BOX;
  return { lines: isBeside ? own : [...own, { text: "", class: name }], target: { text: target, class: name } };
};

const setBox = (box: Pick<Box, "path" | "name" | "file">, isPassed: boolean, rows: SetRow[]): SetBox => ({
  path: box.path,
  name: { text: box.name, class: "name", link: box.file && `../sheets/${box.file}` },
  isPassed,
  rows,
  height: 2 * PADDING + LINE + 6 + rows.reduce((sum, row) => sum + row.lines.length * LINE, 0),
});

const numbersOf = (steps: readonly Step[], isMeant: (step: Step) => boolean): string =>
  steps.flatMap((step, index) => (isMeant(step) ? index + 1 : [])).join(", ");

/** The life of a task with the way that the steps took, and what happened beside it in other regions. */
const lifeOf = (life: Sheet, steps: readonly Step[]): SetBox[] => {
  const moves = steps.flatMap(({ move }) => move ?? []);
  const boxes = life.boxes.map((box) => {
    const from = box.path ?? "run";
    const rows = box.rows.map(({ words, target }) => {
      const isTaken = ({ move }: Step) => move?.from === from && move.to === target?.box;
      const own = [...new Set(steps.filter(isTaken).map((step) => step.words))];
      const said = own.length > 0 ? `${numbersOf(steps, isTaken)}: ${own.join(", ")}` : words.join(", ");
      return setRow(said, `→ ${target?.name}`, own.length > 0);
    });
    return setBox(
      box,
      moves.some((move) => move.from === from || move.to === from),
      rows,
    );
  });
  const beside = BESIDE.flatMap((region) => {
    const states = new Set(steps.flatMap(({ entered }) => entered.filter((state) => state.startsWith(`${region}.`))));
    if (states.size === 0) return [];
    const rows = [...states].map((state) => {
      const numbers = numbersOf(steps, ({ entered }) => entered.includes(state));
      return setRow(`${numbers}: ${nameOf(state.slice(region.length + 1))}`, "", true);
    });
    return [setBox({ path: region, name: `beside the run: ${region}`, file: `task.${region}` }, true, rows)];
  });
  return [...boxes, ...beside];
};

const drawBox = ({ path, name, isPassed, rows, height }: SetBox, x: number, y: number): string => {
  let line = y + PADDING + 11;
  const texts = [drawnText(x + PADDING, line, name), `<path class="rule" d="M${x} ${line + 7}H${x + BOX}"/>`];
  line += LINE + 6;
  for (const row of rows) {
    texts.push(
      drawLines(
        x + PADDING,
        line,
        row.lines.filter(({ text }) => text !== ""),
      ),
    );
    line += row.lines.length * LINE;
    if (row.target) texts.push(drawnText(x + BOX - PADDING, line - LINE, row.target, ' text-anchor="end"'));
  }
  const kind = [path === undefined ? "any" : "", isPassed ? "passed" : ""].join(" ").trim();
  return `<g class="box ${kind}" data-state="${path ?? ""}"><rect x="${x}" y="${y}" width="${BOX}" height="${height}" rx="6"/>${texts.join("")}</g>`;
};

/** Puts what has a height one below the other, and draws each where it is then. */
const stacked = <Item extends { height: number }>(
  items: Item[],
  top: number,
  gap: number,
  draw: (item: Item, y: number, index: number) => string,
): string[] => {
  let y = top;
  return items.map((item, index) => {
    const drawn = draw(item, y, index);
    y += item.height + gap;
    return drawn;
  });
};

/** Draws a story as SVG, in light and dark colours: its steps, and beside them the life of a task with the way that they took. */
export const storySvg = ({ title, sentence }: Story, steps: readonly Step[], life: Sheet, chart: State): string => {
  const descriptions = new Map(withAllInside(chart).map(({ path, description = "" }) => [path, description]));
  const set = setSteps(steps, descriptions);
  const columns = columnsOf(lifeOf(life, steps), LIFE.columns);
  const about = lines(sentence, WIDTH - 2 * MARGIN, "is");
  const top = MARGIN + 32 + about.length * LINE + 14;
  const stepsHeight = set.reduce((sum, { height }) => sum + height, LINE);
  const legend = lines(LEGEND, LIFE.columns * (BOX + GAP) - GAP, "foot");
  const legendAt = top + heightOf(columns) + 34;
  const height = Math.max(top + stepsHeight, legendAt + legend.length * LINE) + MARGIN;
  const heads = [
    { x: TIMES.x, text: "after", class: "what" },
    { x: EVENTS.x, text: "what happens", class: "what" },
    { x: STATES.x, text: "the task then", class: "what" },
    { x: LIFE.x, text: "the life of a task", class: "name", link: "../sheets/life-of-a-task" },
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${Math.ceil(height)}" viewBox="0 0 ${WIDTH} ${Math.ceil(height)}" role="img" aria-label="${escaped(`${title}. ${sentence}`)}">`,
    `<style>${STYLE}\n${STORY_STYLE}</style>`,
    `<rect class="sheet" width="100%" height="100%"/>`,
    `<text x="${MARGIN}" y="${MARGIN + 12}" class="title">${escaped(title)}</text>`,
    drawLines(MARGIN, MARGIN + 32, about),
    ...heads.map(({ x, ...head }) => drawnText(x, top, head)),
    `<path class="line" d="M${NUMBERS.x} ${top + 20}V${top + 20 + stepsHeight - LINE - (set.at(-1)?.height ?? 0)}"/>`,
    ...stacked(set, top + LINE + 8, 0, (step, y, index) => drawStep(step, index + 1, y)),
    ...columns.flatMap((column, index) =>
      stacked(column, top + 10, GAP, (box, y) => drawBox(box, LIFE.x + index * (BOX + GAP), y)),
    ),
    drawLines(LIFE.x, legendAt, legend),
    "</svg>",
    "",
  ].join("\n");
};
