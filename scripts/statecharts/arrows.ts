import { type State, type Transition, withAllInside } from "../../src/machines/plain-chart.ts";

/** All transitions from one state to another: a picture draws them as one arrow. */
export interface Arrow {
  source: string;
  target: string;
  labels: Label[];
}

/** Events with the same guard that raise the same. */
export interface Label {
  events: string[];
  guard: string | undefined;
  raises: string[];
}

const labelsOf = (transitions: Transition[]): Label[] =>
  [...Map.groupBy(transitions, ({ guard, raises }) => JSON.stringify([guard, raises])).values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const events = same.map(({ event }) => event).filter((event) => event !== "");
    return [{ events, guard: first.guard, raises: first.raises }];
  });

/** Returns the arrows of a chart, in the order of its states. */
export const arrowsOf = (chart: State): Arrow[] =>
  withAllInside(chart).flatMap(({ path, transitions }) => {
    const targets = new Set(transitions.flatMap((transition) => transition.targets));
    return [...targets].map((target) => ({
      source: path,
      target,
      labels: labelsOf(transitions.filter((transition) => transition.targets.includes(target))),
    }));
  });

/** Returns the events that a state takes without being left. */
export const innerLabels = ({ transitions }: State): Label[] =>
  labelsOf(transitions.filter(({ targets }) => targets.length === 0));

/** Returns true when the arrow leads from a state to one inside it. */
export const leadsInside = ({ source, target }: Arrow): boolean =>
  target !== source && (source === "" || target.startsWith(`${source}.`));
