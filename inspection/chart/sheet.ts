import { isInState } from "../../src/machines/place.ts";
import type { Way } from "../../src/machines/way.ts";

/** The drawing of what is directly inside one state. */
export interface SheetDrawing {
  svg: SVGSVGElement;
  boxes: SVGGElement[];
}

const templates = (): HTMLTemplateElement[] => [
  ...document.querySelectorAll<HTMLTemplateElement>("template[data-sheet]"),
];

/** The height of the title in a drawing. */
const TITLE = 20;

/** Returns a copy of a sheet that the page holds, without its title. Throws when there is none of that name. */
export const sheetDrawing = (name: string): SheetDrawing => {
  const template = templates().find(({ dataset }) => dataset.sheet === name);
  const svg = template?.content.querySelector("svg")?.cloneNode(true) as SVGSVGElement | undefined;
  if (!svg) throw new Error(`the page has no sheet ${name}`);
  // As an image it could hold no links.
  svg.setAttribute("role", "group");
  svg.querySelector(".title")?.remove();
  const { width, height } = svg.viewBox.baseVal;
  svg.setAttribute("viewBox", `0 ${TITLE} ${width} ${height - TITLE}`);
  svg.setAttribute("height", String(height - TITLE));
  return { svg, boxes: [...svg.querySelectorAll<SVGGElement>(".box")] };
};

const rowsOf = (transition: string): string => `[data-through~="${CSS.escape(transition)}"]`;

/** Returns the name of the sheet that shows a transition in full. */
export const sheetOfTransition = (name: string): string | undefined =>
  templates().find(({ content }) => content.querySelector(`${rowsOf(name)}:has(.what)`))?.dataset.sheet;

/** Lays a strip of colour below the texts of a row. */
const markRow = (row: SVGGElement): void => {
  const box = row.parentElement?.querySelector("rect");
  const texts = [...row.querySelectorAll("text")].map((text) => text.getBBox());
  const [top, bottom] = [Math.min(...texts.map(({ y }) => y)), Math.max(...texts.map(({ y, height }) => y + height))];
  const strip = document.createElementNS(row.namespaceURI, "rect") as SVGRectElement;
  const place = {
    x: box?.getAttribute("x") ?? 0,
    y: top,
    width: box?.getAttribute("width") ?? 0,
    height: bottom - top,
  };
  for (const [name, value] of Object.entries(place)) strip.setAttribute(name, String(value));
  row.prepend(strip);
  row.classList.add("taken");
};

/** What is marked on a sheet. */
export interface Marked {
  /** The boxes of the states that an actor is in, and of those that it has passed on its way. */
  lit: SVGGElement[];
  passed: SVGGElement[];
  /** The transition by which it came to where it is, where the sheet shows one of these. */
  transition: string | undefined;
}

/** Marks where on a sheet an actor is, what it has passed, and how it came to where it is. The sheet must be on the page. */
export const mark = ({ svg, boxes }: SheetDrawing, states: readonly string[], way: Way): Marked => {
  const stateOf = ({ dataset }: SVGGElement): string => dataset.state ?? "";
  const lit = boxes.filter((box) => states.some((state) => isInState(state, stateOf(box))));
  const passed = boxes.filter((box) => !lit.includes(box) && way.passed.includes(stateOf(box)));
  for (const { classList } of lit) classList.add("lit");
  for (const { classList } of passed) classList.add("passed");
  const shown = [...new Set(Object.values(way.arrivals))].filter((name) => {
    const rows = svg.querySelectorAll<SVGGElement>(rowsOf(name));
    rows.forEach(markRow);
    return rows.length > 0;
  });
  return { lit, passed, transition: lit.flatMap((box) => way.arrivals[stateOf(box)] ?? [])[0] ?? shown[0] };
};

const textsIn = (parent: Element, selector: string): string =>
  [...parent.querySelectorAll(selector)].map(({ textContent }) => textContent).join(" ");

/** Returns what a box says, for those who do not see it: what the state is, and what may follow. */
export const inSentences = (box: SVGGElement): { state: string; rows: string[] } => ({
  // Without the mark of a state that has others inside.
  state: `${textsIn(box, ":scope > a > .name, :scope > .name").replace(/ ▸$/, "")}. ${textsIn(box, ":scope > .is")}`,
  rows: [...box.querySelectorAll(":scope > g")].map((row) => textsIn(row, "text")),
});
