import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  getInitialMicrosteps,
  getMicrosteps,
} from "xstate";

/** One transition of a chart: what it is called in print, and the chart's own definition of it. */
export interface ChartTransition {
  /** State path, event, and which of the event's transitions in that state: `run.active.working.busy TICK #1`. */
  name: string;
  definition: AnyTransitionDefinition;
}

const nodesOf = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodesOf)];

const pathOf = (node: AnyStateNode): string => node.path.join(".") || node.machine.id;

/** The paths of all states of a chart, composite ones included. */
export const statesOf = (machine: AnyStateMachine): string[] => nodesOf(machine.root).map(pathOf);

/** What a transition is called in print, see `ChartTransition`: the same in a chart that was given other actions. */
export const nameOfTransition = (definition: AnyTransitionDefinition): string => {
  const { source, eventType } = definition;
  const isEventless = eventType === "";
  const siblings = (isEventless ? source.always : source.transitions.get(eventType)) ?? [];
  return `${pathOf(source)} ${isEventless ? "(always)" : eventType} #${siblings.indexOf(definition) + 1}`;
};

/** All transitions of a chart. */
export const transitionsOf = (machine: AnyStateMachine): ChartTransition[] =>
  nodesOf(machine.root)
    .flatMap((node) => [...[...node.transitions.values()].flat(), ...(node.always ?? [])])
    .map((definition) => ({ name: nameOfTransition(definition), definition }));

/** The states that a snapshot is in, composite ones included. */
export const activeStates = ({ _nodes }: AnyMachineSnapshot): string[] =>
  _nodes.map((node: AnyStateNode) => pathOf(node));

/** The events that a chart raises in a microstep. */
const raisedIn = (actions: readonly { type: string; params?: unknown }[]): AnyEventObject[] =>
  actions.flatMap(({ type, params }) => (type === "xstate.raise" ? [(params as { event: AnyEventObject }).event] : []));

/** The transitions of the events that a chart raises in these microsteps. */
const takenIn = (
  machine: AnyStateMachine,
  microsteps: readonly (readonly [AnyMachineSnapshot, Parameters<typeof raisedIn>[0]])[],
): AnyTransitionDefinition[] =>
  microsteps.flatMap(([after, actions]) =>
    raisedIn(actions).flatMap((raised) => machine.getTransitionData(after, raised)),
  );

/** The transitions without an event that led from one microstep to the next: out of a state, and into the one that they name. */
const eventlessIn = (
  before: AnyMachineSnapshot,
  microsteps: readonly (readonly [AnyMachineSnapshot, unknown])[],
): AnyTransitionDefinition[] =>
  microsteps.flatMap(([after], index) => {
    const left: AnyStateNode[] = (microsteps[index - 1]?.[0] ?? before)._nodes;
    const isThere = (node: AnyStateNode) => (after._nodes as AnyStateNode[]).includes(node);
    return left
      .filter((node) => !isThere(node))
      .flatMap(({ always = [] }) => always.filter(({ target = [] }) => target.length > 0 && target.every(isThere)));
  });

/** The transitions that a chart takes when it begins. */
export const takenAtFirst = (machine: AnyStateMachine, input: unknown): AnyTransitionDefinition[] =>
  takenIn(machine, getInitialMicrosteps(machine, input));

/** The transitions that a chart takes when an event comes, those that it takes by itself after that included. */
export const takenBy = (
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  event: AnyEventObject,
): AnyTransitionDefinition[] => {
  const microsteps = getMicrosteps(machine, snapshot, event);
  return [
    ...machine.getTransitionData(snapshot, event),
    ...takenIn(machine, microsteps),
    ...eventlessIn(snapshot, microsteps),
  ];
};
