// Transitions have names, by which drawings, the status API and the way of an actor mean the same one.
import type { AnyStateNode, AnyTransitionDefinition } from "xstate";
import { isInState } from "./place.ts";

/** Returns the path of a state, such as `run.active.working`; empty for the chart itself. */
export const pathOf = ({ path }: AnyStateNode): string => path.join(".");

/**
 * Names a transition by the state that takes it, its event and its place among those of that state for that event, such as
 * `run.queued:SLOT_GRANTED:0`. The event of one that is taken at once is empty.
 */
export const transitionName = (transition: AnyTransitionDefinition): string => {
  const { source, eventType } = transition;
  const same = (eventType === "" ? source.always : source.transitions.get(eventType)) ?? [];
  return `${pathOf(source)}:${eventType}:${same.indexOf(transition)}`;
};

/**
 * Returns for each of these states, and groups of states, the name of the transition by which it was entered: of those that were
 * taken, the last one that leads into it from outside. A state that an actor begins in has none.
 */
export const enteredThrough = (
  taken: readonly AnyTransitionDefinition[],
  states: readonly string[],
): Record<string, string> =>
  Object.fromEntries(
    states.flatMap((state) => {
      const transition = taken.findLast(
        ({ source, target = [] }) =>
          !isInState(pathOf(source), state) &&
          target.map(pathOf).some((path) => isInState(state, path) || isInState(path, state)),
      );
      return transition ? [[state, transitionName(transition)] as const] : [];
    }),
  );
