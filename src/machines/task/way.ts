import { getMicrosteps, initialTransition } from "xstate";
import { enteredThrough, statePaths } from "../chart.ts";
import { apartFrom, type Move, NO_WAY, type Way, wayOf } from "../way.ts";
import type { TaskEvent, TaskInput } from "./events.ts";
import { type StoredSnapshot, type TaskSnapshot, taskMachine } from "./machine.ts";
import { raisedEvents, transitionsOf } from "./replay.ts";

/** Returns the transitions that an event is taken by, with those of the events that they raise. */
const transitionsTaken = (snapshot: TaskSnapshot, event: TaskEvent) => {
  const events = [event];
  let before = snapshot;
  return getMicrosteps(taskMachine, snapshot, event).flatMap(([after, actions]) => {
    const taken = events.splice(0, 1).flatMap((next) => taskMachine.getTransitionData(before, next));
    events.push(...actions.flatMap(raisedEvents));
    before = after;
    return taken;
  });
};

const without = (states: readonly string[], others: readonly string[]): string[] =>
  states.filter((state) => !others.includes(state));

/** Returns the steps of a journal by which a task came into other states, from its launch on. */
export const movesOf = (origin: TaskInput, events: readonly TaskEvent[]): Move[] => {
  const begun = statePaths(initialTransition(taskMachine, origin)[0].value);
  const moves: Move[] = [{ left: [], entered: begun, through: {} }];
  for (const { event, before, after } of transitionsOf(origin, events)) {
    const [was, is] = [statePaths(before.value), statePaths(after.value)];
    const entered = without(is, was);
    if (entered.length === 0) continue;
    const left = without(was, is);
    moves.push({
      left,
      entered,
      // Takes longer than the step itself, and is asked of a few.
      get through() {
        return enteredThrough(transitionsTaken(before, event), apartFrom(entered, left));
      },
    });
  }
  return moves;
};

/**
 * Returns the way of the newest run of a task. It is empty where the journal does not lead to the snapshot, as when it does not
 * go back to the launch.
 */
export const wayOfTask = ({ value, context: { facts } }: StoredSnapshot, events: readonly TaskEvent[]): Way => {
  // The ids of the first run decide nothing: the snapshot has those of the newest one.
  const run = { index: 0, messageID: "", partID: "", prompt: facts.prompt, startedAt: Date.parse(facts.startedAt) };
  const moves = movesOf({ facts, run }, events);
  const reached = moves.reduce<string[]>((states, { left, entered }) => [...without(states, left), ...entered], []);
  const isThere = reached.toSorted().join() === statePaths(value).toSorted().join();
  return isThere ? wayOf(moves) : NO_WAY;
};
