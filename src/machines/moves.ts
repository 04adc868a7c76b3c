import {
  type AnyStateMachine,
  type AnyTransitionDefinition,
  createActor,
  type EventFromLogic,
  type InputFrom,
} from "xstate";
import { statePaths } from "./chart.ts";
import { enteredThrough } from "./transition-names.ts";
import { apartFrom, type Move } from "./way.ts";

const without = (states: readonly string[], others: readonly string[]): string[] =>
  states.filter((state) => !others.includes(state));

/** Takes a chart through events. Returns the steps by which it came into other states, its beginning included. */
export const movesOf = <Chart extends AnyStateMachine>(
  chart: Chart,
  input: InputFrom<Chart>,
  events: readonly EventFromLogic<Chart>[],
): Move[] => {
  let taken: AnyTransitionDefinition[] = [];
  const actor = createActor(chart as AnyStateMachine, {
    input,
    inspect: (inspected) => {
      if (inspected.type === "@xstate.microstep") taken.push(...inspected._transitions);
    },
  });
  // An event of a journal that another version wrote may make the chart throw. Its actor has ended then.
  actor.subscribe({ error: () => undefined });
  actor.start();
  let states: string[] = [];
  const move = (): Move[] => {
    const now = statePaths(actor.getSnapshot().value);
    const [left, entered] = [without(states, now), without(now, states)];
    const transitions = taken;
    states = now;
    taken = [];
    if (entered.length === 0) return [];
    return [
      {
        left,
        entered,
        // Takes longer than the step, and is asked of a few.
        get through() {
          return enteredThrough(transitions, apartFrom(entered, left));
        },
      },
    ];
  };
  return [
    ...move(),
    ...events.flatMap((event) => {
      if (actor.getSnapshot().status === "active") actor.send(event);
      return move();
    }),
  ];
};
