import type { AnyStateMachine, AnyStateNode } from "xstate";
import { actionName, guardName } from "./chart-json.ts";
import { guardPhrase } from "./guard-phrase.ts";
import { pathOf, transitionName } from "./transition-names.ts";

/** A state of a chart, or the chart itself. */
export interface State {
  /** Its path, such as `run.active.working.busy`; empty for the chart itself. */
  path: string;
  /** The last part of the path; the chart's own name. */
  name: string;
  kind: "atomic" | "compound" | "parallel" | "final";
  description: string | undefined;
  /** Path of a compound state's initial state. */
  initial: string | undefined;
  /** Events that entering the state raises. */
  raises: string[];
  /** The effects that entering the state requests, by their names. */
  effects: string[];
  /** Reasons for refusing events, by the event's name. */
  refusals: Record<string, string>;
  states: State[];
  transitions: Transition[];
}

/** A reaction of a state to an event. Of several for one event, the first whose guard holds is taken. */
export interface Transition {
  /** Such as `run.queued:SLOT_GRANTED:0`: see `transitionName`. */
  name: string;
  /** Path of the state that takes the event. */
  source: string;
  /** Empty for a transition that is taken as soon as its guard holds. */
  event: string;
  guard: string | undefined;
  /** The same as people read it, such as "if the delay is over"; undefined where it has no guard. */
  condition: string | undefined;
  /** Paths of the states that it leads to; none when the chart stays where it is. */
  targets: string[];
  /** Events that it raises, such as `RUN_ENDED (completed)`. */
  raises: string[];
  /** The effects that it requests, by their names. */
  effects: string[];
  description: string | undefined;
}

const kindOf = ({ type, id }: AnyStateNode): State["kind"] => {
  if (type === "history") throw new Error(`#${id}: history states are not drawn`);
  return type;
};

/** Describes a guard. States that it names by their ids are named by their paths. */
const guardOf = (guard: unknown, { machine }: AnyStateNode): string =>
  guardName(guard).replaceAll(/#([^\s)]+)/g, (_, id: string) => pathOf(machine.getStateNodeById(id)));

/** Returns the events that the actions raise. */
const raisedBy = (actions: readonly unknown[]): string[] =>
  actions.flatMap((action) => actionName(action).match(/^raise (.+)/)?.[1] ?? []);

const effectsOf = (actions: readonly unknown[]): string[] =>
  actions.flatMap((action) => (action as { effect?: string }).effect ?? []);

const transitionsOf = (node: AnyStateNode): Transition[] =>
  [...(node.always ?? []), ...[...node.transitions.values()].flat()].map((transition) => ({
    name: transitionName(transition),
    source: pathOf(node),
    event: transition.eventType,
    guard: transition.guard === undefined ? undefined : guardOf(transition.guard, node),
    condition: transition.guard === undefined ? undefined : guardPhrase(transition.guard, node.machine),
    targets: (transition.target ?? []).map(pathOf),
    raises: raisedBy(transition.actions),
    effects: effectsOf(transition.actions),
    description: transition.description,
  }));

const stateOf = (node: AnyStateNode): State => {
  const kind = kindOf(node);
  const [initial] = kind === "compound" ? node.initial.target : [];
  return {
    path: pathOf(node),
    name: node.key,
    kind,
    description: node.description,
    initial: initial && pathOf(initial),
    raises: raisedBy(node.entry),
    effects: effectsOf(node.entry),
    refusals: node.meta?.refuses ?? {},
    states: Object.values(node.states).map(stateOf),
    transitions: transitionsOf(node),
  };
};

/** Returns a machine as plain nested states. */
export const chartOf = ({ root }: AnyStateMachine): State => stateOf(root);

/** Returns a state and all states inside it, outer ones first. */
export const withAllInside = (state: State): State[] => [state, ...state.states.flatMap(withAllInside)];
