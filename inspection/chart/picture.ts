import { isInState } from "../../src/machines/task/place.ts";

/** The drawing of a chart, with its states and arrows. */
export interface Picture {
  svg: SVGSVGElement;
  /** Size in the units of the drawing, in which letters are 12 high. */
  width: number;
  height: number;
  /** By their paths. */
  states: Map<string, SVGGElement>;
  edges: { from: string; to: string; label: string; element: SVGGElement }[];
}

/** Separates the two paths in the title of an arrow's group. The title of a state's group is its path. */
const ARROW = "->";

const titleOf = (group: SVGGElement): string => group.querySelector(":scope > title")?.textContent ?? "";

/** Returns a copy of the drawing that the page holds under that name. Throws when there is none. */
export const drawing = (name: string): Picture => {
  const template = document.querySelector<HTMLTemplateElement>(`template[data-chart="${name}"]`);
  const svg = template?.content.querySelector("svg")?.cloneNode(true) as SVGSVGElement | undefined;
  if (!svg) throw new Error(`the page has no chart ${name}`);
  const states: Picture["states"] = new Map();
  const edges: Picture["edges"] = [];
  for (const element of svg.querySelectorAll("g")) {
    const title = titleOf(element);
    const [from, to] = title.split(ARROW);
    if (from !== undefined && to !== undefined) {
      const label = [...element.querySelectorAll("text")].map(({ textContent }) => textContent).join(" ");
      edges.push({ from, to, label, element });
    } else if (title !== "") states.set(title, element);
    // A browser would show the title as a tooltip, that of the outermost group everywhere.
    element.querySelector(":scope > title")?.remove();
  }
  const { width, height } = svg.viewBox.baseVal;
  return { svg, width, height, states, edges };
};

/** Returns the arrow of a transition; undefined when the drawing has none, or several match. */
const edgeTaken = ({ edges }: Picture, left: string[], entered: string[], event: string) => {
  const possible = edges.filter(
    ({ from, to }) => left.some((state) => isInState(state, from)) && entered.some((state) => isInState(state, to)),
  );
  const named = possible.filter(({ label }) => new RegExp(`\\b${event}\\b`).test(label));
  const [edge, ...others] = named.length > 0 ? named : possible;
  return others.length === 0 ? edge : named.toSorted((one, other) => other.from.length - one.from.length)[0];
};

/** Highlights the states that an actor is in, the states that contain them, and the arrow of its last transition. */
export const highlight = (
  picture: Picture,
  states: string[],
  { event, entered, left }: { event: string; entered: string[]; left: string[] },
): void => {
  for (const [path, { classList }] of picture.states) {
    classList.toggle("lit", states.includes(path));
    classList.toggle("around", !states.includes(path) && states.some((state) => isInState(state, path)));
    classList.toggle("entered", states.includes(path) && entered.includes(path));
  }
  const taken = edgeTaken(picture, left, entered, event);
  for (const edge of picture.edges) edge.element.classList.toggle("taken", edge === taken);
};
