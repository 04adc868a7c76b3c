/** A chart as it was drawn, with its parts by what they stand for. */
export interface Picture {
  svg: SVGSVGElement;
  /** Size in the units of the drawing; its letters are 12 high. */
  width: number;
  height: number;
  states: Map<string, SVGGElement>;
  edges: { from: string; to: string; label: string; element: SVGGElement }[];
}

/** Every part of the drawing is a group with a title: a state's path, or two paths with an arrow in between. */
const ARROW = "->";

const titleOf = (group: SVGGElement): string => group.querySelector(":scope > title")?.textContent ?? "";

/** A copy of the drawing that the page carries under that name. */
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
    // Else a browser would show it as a tooltip, of the outermost group everywhere.
    element.querySelector(":scope > title")?.remove();
  }
  const { width, height } = svg.viewBox.baseVal;
  return { svg, width, height, states, edges };
};

const isIn = (path: string, state: string): boolean => path === state || path.startsWith(`${state}.`);

/** The arrow that an event took; undefined where the drawing has none, or more than one could be meant. */
const edgeTaken = ({ edges }: Picture, left: string[], entered: string[], event: string) => {
  const possible = edges.filter(
    ({ from, to }) => left.some((state) => isIn(state, from)) && entered.some((state) => isIn(state, to)),
  );
  const named = possible.filter(({ label }) => new RegExp(`\\b${event}\\b`).test(label));
  const [edge, ...others] = named.length > 0 ? named : possible;
  return others.length === 0 ? edge : named.toSorted((one, other) => other.from.length - one.from.length)[0];
};

/** Lights the states that an actor is in, those around them, and the arrow that it came by. */
export const light = (
  picture: Picture,
  states: string[],
  { event, entered, left }: { event: string; entered: string[]; left: string[] },
): void => {
  for (const [path, { classList }] of picture.states) {
    classList.toggle("lit", states.includes(path));
    classList.toggle("around", !states.includes(path) && states.some((state) => isIn(state, path)));
    classList.toggle("entered", states.includes(path) && entered.includes(path));
  }
  const taken = edgeTaken(picture, left, entered, event);
  for (const edge of picture.edges) edge.element.classList.toggle("taken", edge === taken);
};
