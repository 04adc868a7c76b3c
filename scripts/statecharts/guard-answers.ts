// Charts are simulated without their functions. What their guards answer then is taken from the plain run.
import { type AnyStateMachine, type AnyStateNode, initialTransition, transition } from "xstate";
import { guardParts, type PlainEvent, UNKNOWN } from "../../src/machines/chart-json.ts";
import type { Step } from "./plain-run.ts";

/** What guards answer, by their names. */
export type Answers = Record<string, boolean>;

/** An event of the plain run as it is simulated. */
export interface SimulatedEvent {
  type: string;
  /** What guards answer otherwise than to other events of that type. */
  guards?: Answers;
}

/** What the guards of a chart answer where nothing can be computed. */
export interface PlainAnswers {
  /** The answers of the plain run, by the type of the event that was handled. */
  toEvents: Record<string, Answers>;
  /**
   * What each guard answers to all other events: what it answered last in that run. A guard that was not asked holds if an
   * event would not be taken without it; one that only chooses between ways does not, and the last way is taken.
   */
  otherwise: Answers;
  /** The events of the run. */
  events: SimulatedEvent[];
}

type Guard = (args: { event: { type: string }; context: unknown }, params: unknown) => boolean;

/** True for a guard that computes its answer, and is not composed of others. */
const isComputed = (guard: unknown): guard is Guard =>
  typeof guard === "function" && guardParts(guard).kind === "named";

/** Returns the guards of a chart that compute their answers, by their names. */
const computedGuards = ({ implementations }: AnyStateMachine): [name: string, guard: Guard][] =>
  Object.entries(implementations.guards).flatMap(([name, guard]) => (isComputed(guard) ? [[name, guard]] : []));

/** Returns the chart with guards that report what they answer. */
const reporting = (machine: AnyStateMachine, report: (event: string, guard: string, answer: boolean) => void) =>
  machine.provide({
    guards: Object.fromEntries(
      computedGuards(machine).map(([name, guard]): [string, Guard] => [
        name,
        (args, params) => {
          const answer = guard(args, params);
          report(args.event.type, name, answer);
          return answer;
        },
      ]),
    ),
  });

/** Returns the states inside a state, at any depth, and the state itself. */
export const nodesOf = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodesOf)];

/** Returns the names of the guards that are asked for a guard's answer. */
const askedFor = (guard: unknown, machine: AnyStateMachine): string[] => {
  const parts = guardParts(guard);
  if (parts.kind === "stateIn") return [];
  if (parts.kind !== "named") return parts.guards.flatMap((inner) => askedFor(inner, machine));
  const named: unknown = machine.implementations.guards[parts.name];
  return named === undefined || isComputed(named) ? [parts.name] : askedFor(named, machine);
};

/** Returns the names of the guards that have to hold for a guard to hold. Of alternatives, those of the first one. */
const neededFor = (guard: unknown, machine: AnyStateMachine): string[] => {
  const parts = guardParts(guard);
  if (parts.kind === "and") return parts.guards.flatMap((inner) => neededFor(inner, machine));
  if (parts.kind === "or") return neededFor(parts.guards[0], machine);
  return parts.kind === "named" ? askedFor(guard, machine) : [];
};

/** Returns the names of the guards without which a state would not take an event at all: other transitions come before. */
const guardsToTakeEvents = (machine: AnyStateMachine): Set<string> =>
  new Set(
    nodesOf(machine.root).flatMap(({ transitions }) =>
      [...transitions.values()].flatMap((ways) => {
        const guard: unknown = ways.at(-1)?.guard;
        return guard === undefined ? [] : neededFor(guard, machine);
      }),
    ),
  );

/** Takes a chart through its steps in the plain run once more, and returns what its guards answer. */
export const plainAnswersOf = (machine: AnyStateMachine, steps: Step[]): PlainAnswers => {
  const needed = guardsToTakeEvents(machine);
  const toEvents: PlainAnswers["toEvents"] = {};
  const otherwise: Answers = Object.fromEntries(computedGuards(machine).map(([name]) => [name, needed.has(name)]));
  let others: Answers = {};
  const asking = reporting(machine, (event, guard, answer) => {
    const answers = { [guard]: answer, ...toEvents[event] };
    toEvents[event] = answers;
    if (answers[guard] !== answer) others[guard] = answer;
    otherwise[guard] = answer;
  });
  const events = steps.flatMap(({ event, before }): SimulatedEvent[] => {
    others = {};
    if (!before) {
      initialTransition(asking, event.input);
      return [];
    }
    transition(asking, asking.resolveState({ value: before.value, context: before.context }), event);
    return [{ type: event.type, ...(Object.keys(others).length > 0 ? { guards: others } : {}) }];
  });
  return { toEvents, otherwise, events };
};

/** Returns what those guards answer that need no more than this event: a raised event says itself how a run ended. */
export const answersOf = (event: PlainEvent, machine: AnyStateMachine): Answers => {
  const asked = nodesOf(machine.root).flatMap(({ transitions }) =>
    (transitions.get(event.type) ?? []).flatMap(({ guard }) => (guard === undefined ? [] : askedFor(guard, machine))),
  );
  return Object.fromEntries(
    computedGuards(machine).flatMap(([name, guard]) => {
      if (!asked.includes(name)) return [];
      let needsMore = false;
      const known = (fields: object) =>
        new Proxy(fields, {
          get: (_, key) => {
            if (key in fields) return Reflect.get(fields, key);
            needsMore = true;
            return UNKNOWN;
          },
        });
      const answer = guard({ event: known(event) as PlainEvent, context: known({}) }, undefined);
      return needsMore ? [] : [[name, answer]];
    }),
  );
};
