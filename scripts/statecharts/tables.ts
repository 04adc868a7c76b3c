import { type State, type Transition, withAllInside } from "../../src/machines/plain-chart.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

export const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");

const code = (text: string): string => `\`${text}\``;

const lastName = (path: string): string => path.split(".").at(-1) ?? path;

const nameOf = ({ path, name }: State): string => code(path || name);

/** Describes a state in the chart's words, with what the picture shows of it besides its arrows. */
const meaningOf = ({ kind, description = "", initial, raises }: State): string =>
  [
    description,
    ...(initial === undefined ? [] : [`Begins in ${code(lastName(initial))}.`]),
    ...(kind === "parallel" ? ["All of its regions are active at the same time."] : []),
    ...(kind === "final" ? ["Final."] : []),
    ...raises.map((event) => `Entering it raises ${code(event)}.`),
  ].join(" ");

/** Returns a table of every state with its description. */
export const statesTable = (chart: State): string =>
  table(
    ["state", "what it means"],
    withAllInside(chart).map((state) => [nameOf(state), meaningOf(state)]),
  );

/** Returns a table of every event with its meaning. */
export const eventsTable = (meanings: Record<string, string>): string =>
  table(
    ["event", "what it means"],
    Object.entries(meanings).map(([event, meaning]) => [code(event), meaning]),
  );

/** Names a state by its path within the region, or by its whole path outside. */
const within = (path: string, region: string): string =>
  code(path.startsWith(`${region}.`) ? path.slice(region.length + 1) : path);

const transitionRow = ({ event, guard, targets, raises, description = "" }: Transition, region: string): string[] => [
  event === "" ? "at once" : code(event),
  guard === undefined ? "" : code(guard),
  targets.length === 0 ? "stays" : targets.map((target) => within(target, region)).join(", "),
  [description, ...raises.map((raised) => `Raises ${code(raised)}.`)].join(" "),
];

/** Returns a table of the states' transitions, in the order in which they are tried. */
export const transitionsTable = (states: State[], region: string): string =>
  table(
    ["in", "event", "if", "goes to", "why"],
    states.flatMap((state) =>
      state.transitions.map((transition, i) => [
        i > 0 ? "" : state.path === region ? nameOf(state) : within(state.path, region),
        ...transitionRow(transition, region),
      ]),
    ),
  );

/** Returns a table of refused events and the reasons; undefined when the chart gives no reasons. */
export const refusalsTable = (chart: State): string | undefined => {
  const rows = withAllInside(chart).flatMap((state) =>
    Object.entries(state.refusals).map(([event, reason]) => [nameOf(state), code(event), reason]),
  );
  return rows.length > 0 ? table(["in", "event", "reason"], rows) : undefined;
};
