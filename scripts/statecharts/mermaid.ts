import { type State, withAllInside } from "../../src/machines/plain-chart.ts";
import { type Arrow, arrowsOf, innerLabels, type Label, leadsInside } from "./arrows.ts";

/** Returns a state's id in Mermaid, where an id must have no dots. */
export const mermaidId = (path: string): string => path.replaceAll(".", "_");

/** Returns the id of the box that stands for any state inside: Mermaid draws no arrow from a state to one inside it. */
const anyId = (path: string): string => mermaidId(path === "" ? "any" : `${path}.any`);

const textOf = ({ events, guard, raises }: Label): string =>
  [events.join(", "), ...(guard === undefined ? [] : [`[${guard}]`]), ...raises.map((event) => `/ raise ${event}`)]
    .filter((part) => part !== "")
    .join(" ");

/** Names and guards have no quotes, colons or semicolons, which would end a text. */
const declared = (id: string, texts: string[]): string => `state "${texts.join("<br/>")}" as ${id}`;

/** Returns the lines that declare a state and all states inside it. */
const declaration = (state: State, needAny: Set<State>): string[] => {
  const id = mermaidId(state.path);
  const texts = [state.name, ...state.raises.map((event) => `entry / raise ${event}`)];
  const end = state.kind === "final" ? [`${id} --> [*]`] : [];
  if (state.states.length === 0) return [declared(id, [...texts, ...innerLabels(state).map(textOf)]), ...end];
  return [`${declared(id, texts)} {`, ...inside(state, needAny).map((line) => `  ${line}`), "}"];
};

const inside = (state: State, needAny: Set<State>): string[] => [
  ...(needAny.has(state) ? [declared(anyId(state.path), ["in any state", ...innerLabels(state).map(textOf)])] : []),
  ...(state.initial === undefined ? [] : [`[*] --> ${mermaidId(state.initial)}`]),
  ...state.states.flatMap((inner) => declaration(inner, needAny)),
];

const drawn = (arrow: Arrow): string => {
  const source = leadsInside(arrow) ? anyId(arrow.source) : mermaidId(arrow.source);
  return `${source} --> ${mermaidId(arrow.target)}: ${arrow.labels.map(textOf).join("<br/>")}`;
};

/** Returns a chart as a Mermaid state diagram, which code hosts render. */
export const mermaidOf = (chart: State): string => {
  const arrows = arrowsOf(chart);
  const sources = new Set(arrows.filter(leadsInside).map(({ source }) => source));
  const needAny = new Set(
    withAllInside(chart).filter(
      (state) => state.states.length > 0 && (innerLabels(state).length > 0 || sources.has(state.path)),
    ),
  );
  const dashed = [...needAny].map(({ path }) => anyId(path)).join(",");
  const lines = [
    "direction LR",
    ...inside(chart, needAny),
    ...arrows.map(drawn),
    ...(needAny.size > 0 ? ["classDef any stroke-dasharray:3 3", `class ${dashed} any`] : []),
  ];
  return ["stateDiagram-v2", ...lines.map((line) => `  ${line}`), ""].join("\n");
};
