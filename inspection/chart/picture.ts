import { isInState } from "../../src/machines/place.ts";
import type { Way } from "../../src/machines/way.ts";

/** The drawing of a chart, with its states and arrows. */
export interface Picture {
  /** The chart's name. */
  chart: string;
  svg: SVGSVGElement;
  /** Size in the units of the drawing, in which letters are 12 high. */
  width: number;
  height: number;
  /** By their paths. */
  states: Map<string, SVGGElement>;
  /** One from each state to each other; from all states, it comes from the chart's name. */
  edges: { from: string; to: string; element: SVGGElement }[];
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
    if (from !== undefined && to !== undefined) edges.push({ from, to, element });
    else if (title !== "") states.set(title, element);
    // A browser would show the title as a tooltip, that of the outermost group everywhere.
    element.querySelector(":scope > title")?.remove();
  }
  const { width, height } = svg.viewBox.baseVal;
  return { chart: name, svg, width, height, states, edges };
};

/** Returns the arrow by which a state was entered. Of those that lead to it or to a state around it, that is the one to the innermost. */
const arrowOf = ({ chart, edges }: Picture, state: string, transition: string) => {
  const source = transition.slice(0, transition.indexOf(":")) || chart;
  return edges
    .filter(({ from, to }) => from === source && isInState(state, to))
    .toSorted((one, other) => other.to.length - one.to.length)[0];
};

/** Highlights the states that an actor is in, the states that contain them, and the arrows by which it came there. */
export const highlight = (picture: Picture, states: readonly string[], { arrivals }: Way): void => {
  for (const [path, { classList }] of picture.states) {
    const isIn = states.includes(path);
    classList.toggle("entered", isIn && !classList.contains("lit"));
    classList.toggle("lit", isIn);
    classList.toggle("around", !isIn && states.some((state) => isInState(state, path)));
  }
  const taken = states.map((state) => arrivals[state] && arrowOf(picture, state, arrivals[state]));
  for (const edge of picture.edges) edge.element.classList.toggle("taken", taken.includes(edge));
};
