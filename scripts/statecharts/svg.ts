import { type IActionType, type IRenderOptions, type IState, render } from "state-machine-cat";
import { type State, withAllInside } from "../../src/machines/plain-chart.ts";
import { arrowsOf, innerLabels, type Label } from "./arrows.ts";

/** Neighbours differ, and each is legible on white. */
const COLORS = ["#0b5cad", "#a33c00", "#1a7431", "#8a1c7c", "#7a5900", "#005f73", "#b3123d", "#4b3fb0", "#5a5a5a"];
const GREY = "#444444";

/** Space is measured with a font wider than those it is drawn with, so that the text fits in any of them. */
const MEASURED = "DejaVu Sans";
const DRAWN = "Helvetica,Arial,DejaVu Sans,sans-serif";

const FONT = { name: "fontname", value: `"${MEASURED}"` };

const LAYOUT: IRenderOptions = {
  inputType: "json",
  outputType: "svg",
  direction: "left-right",
  dotGraphAttrs: [
    FONT,
    { name: "bgcolor", value: "white" },
    { name: "labeljust", value: "l" },
    // Arrows may leave a state in any order, and the layout takes more time: fewer of them cross.
    { name: "ordering", value: '""' },
    { name: "mclimit", value: "20" },
    // Without it, a box of states lies over another where arrows lead between their insides.
    { name: "newrank", value: "true" },
    { name: "nodesep", value: "0.2" },
    { name: "ranksep", value: "0.05" },
  ],
  dotNodeAttrs: [FONT],
  dotEdgeAttrs: [FONT],
};

/** Characters of event and guard beyond which the guard gets a line of its own. */
const LINE = 16;

/** Returns the colour of each state, by path. An arrow has that of the state that it leaves. */
const colorsOf = (chart: State): Map<string, string> =>
  new Map(
    withAllInside(chart).flatMap(({ kind, path, states }) => [
      ...(path === "" ? [[path, GREY] as const] : []),
      ...states.map(
        (state, i) => [state.path, kind === "parallel" ? GREY : (COLORS[i % COLORS.length] ?? GREY)] as const,
      ),
    ]),
  );

const guarded = ({ events, guard }: Pick<Label, "events" | "guard">, separator: string, space: string): string =>
  [events.join(separator), guard === undefined ? "" : `[${guard}]`].filter((part) => part !== "").join(space);

const arrowText = (label: Label): string => {
  const length = (label.events.at(-1) ?? "").length + (label.guard ?? "").length;
  const text = guarded(label, ",\n", length > LINE ? "\n" : " ");
  return [text, ...label.raises.map((event) => `/ ${event}`)].join("\n");
};

const contentsOf = (state: State): IActionType[] => [
  ...state.raises.map((event) => ({ type: "entry" as const, body: `raise ${event}` })),
  ...innerLabels(state).flatMap(({ events, guard }) =>
    events.map((event) => ({ type: "activity" as const, body: guarded({ events: [event], guard }, "", " ") })),
  ),
];

const dotOf = (path: string): string => `${path}.initial`;

/** Returns what is drawn inside a state. The layout puts the first of several regions last, hence their order. */
const insideOf = ({ path, kind, initial }: State, drawn: IState[], color: string): Pick<IState, "statemachine"> => {
  if (drawn.length === 0) return {};
  const dot: IState[] = initial === undefined ? [] : [{ name: dotOf(path), type: "initial", color }];
  return { statemachine: { states: kind === "parallel" ? drawn.toReversed() : [...dot, ...drawn] } };
};

/**
 * Draws a chart as SVG with state-machine-cat: the same bytes on every runtime.
 *
 * Each state is a `<g>` of its own, whose first child is a `<title>` with the state's path and nothing else, such as
 * `run.active.working.busy` for an atomic state and `run.stopping` for one with states inside; the chart itself
 * goes by its name. Besides, a `<g class="node …">` is a state without states inside, a `<g class="cluster …">` one with,
 * and a `<g class="edge …">` an arrow, whose title is `source->target`.
 */
export const svgOf = async (chart: State): Promise<string> => {
  const colors = colorsOf(chart);
  const colorOf = (path: string) => colors.get(path) ?? GREY;
  const nameOf = (path: string) => path || chart.name;
  const draw = (state: State): IState => ({
    name: nameOf(state.path),
    label: state.kind === "final" ? `${state.name} (final)` : state.name,
    type: state.kind === "parallel" ? "parallel" : "regular",
    color: colorOf(state.path),
    actions: contentsOf(state),
    ...insideOf(state, state.states.map(draw), colorOf(state.path)),
  });
  const begins = withAllInside(chart).flatMap(({ path, initial }) =>
    initial === undefined ? [] : [{ from: dotOf(path), to: initial, color: colorOf(path) }],
  );
  const arrows = arrowsOf(chart).map(({ source, target, labels }) => ({
    from: nameOf(source),
    to: target,
    label: labels.map(arrowText).join("\n"),
    color: colorOf(source),
  }));
  const transitions = [...begins, ...arrows].map((arrow, id) => ({ id, ...arrow }));
  const svg = await render({ states: [draw(chart)], transitions }, LAYOUT);
  return svg
    .replaceAll("<title>cluster_", "<title>")
    .replaceAll(`font-family="${MEASURED}"`, `font-family="${DRAWN}"`)
    .replaceAll(/<!--.*?-->\n/gs, "");
};
