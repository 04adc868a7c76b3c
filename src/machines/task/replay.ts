import { initialTransition, transition } from "xstate";
import type { TaskContext, TaskEffect, TaskEvent, TaskInput } from "./events.ts";
import { refusalReason, type StoredSnapshot, statePath, type TaskSnapshot, taskMachine } from "./machine.ts";

/** Where each region of the chart stands, as text: `run` may be `stopping.aborting`. */
export type Regions = Record<keyof TaskSnapshot["value"], string>;

/** One event of a journal, and what the machine made of it. */
export interface ReplayStep {
  event: TaskEvent;
  from: Regions;
  to: Regions;
  /** The events that the machine raised on the way, for its other regions. */
  raised: TaskEvent[];
  /** What the machine wanted done. */
  effects: TaskEffect[];
  /** The names of what changed in the machine's context. */
  changed: (keyof TaskContext)[];
  /** Why the machine takes no such event, in words that follow "task …"; undefined: it took it. */
  refused: string | undefined;
}

/** A journal as the machine goes through it. */
export interface Replay {
  steps: ReplayStep[];
  /** Where it leads. */
  snapshot: StoredSnapshot;
}

/** The name that XState gives to an action that raises an event. */
const RAISE = "xstate.raise";

interface Action {
  type: string;
  params?: unknown;
}

const regionsOf = ({ value }: StoredSnapshot): Regions => ({
  lifecycle: value.lifecycle,
  run: statePath(value.run),
  notice: statePath(value.notice),
  attention: statePath(value.attention),
});

const raisedEvents = ({ type, params }: Action): TaskEvent[] =>
  type === RAISE ? [(params as { event: TaskEvent }).event] : [];

const effectsOf = ({ type, params }: Action): TaskEffect[] => (type === "emitEffect" ? [params as TaskEffect] : []);

const changedFields = (before: TaskContext, after: TaskContext): ReplayStep["changed"] =>
  (Object.keys(after) as (keyof TaskContext)[]).filter((key) => before[key] !== after[key]);

/**
 * The chart for `transition`, which makes an actor each time, and that asks for the chart's beginning. Without input it
 * throws, which is caught, and takes twice as long as all the rest.
 */
const withKnownInitialSnapshot = (snapshot: TaskSnapshot): typeof taskMachine =>
  Object.assign(Object.create(taskMachine) as typeof taskMachine, { getInitialSnapshot: () => snapshot });

interface Applied {
  after: TaskSnapshot;
  actions: Action[];
  fault?: string;
}

/** A journal that another version wrote, or that somebody has edited, may have events that throw in here. */
const applyEvent = (machine: typeof taskMachine, before: TaskSnapshot, event: TaskEvent): Applied => {
  try {
    const [after, actions] = transition(machine, before, event);
    return { after, actions };
  } catch (error) {
    return { after: before, actions: [], fault: `cannot take it: ${error instanceof Error ? error.message : error}` };
  }
};

/**
 * Takes a task through its journal: from what its machine began with, event by event. Nothing is done to the outside:
 * effects are data. A refused event changes nothing, as in life.
 */
export const replay = (origin: TaskInput, events: readonly TaskEvent[]): Replay => {
  let [snapshot] = initialTransition(taskMachine, origin);
  const machine = withKnownInitialSnapshot(snapshot);
  let from = regionsOf(snapshot);
  const steps = events.map((event): ReplayStep => {
    const before = snapshot;
    const { after, actions, fault } = applyEvent(machine, before, event);
    if (after === before) {
      const refused = fault ?? refusalReason(before, event) ?? "makes nothing of it";
      return { event, from, to: from, raised: [], effects: [], changed: [], refused };
    }
    const step = {
      event,
      from,
      to: regionsOf(after),
      raised: actions.flatMap(raisedEvents),
      effects: actions.flatMap(effectsOf),
      changed: changedFields(before.context, after.context),
      refused: undefined,
    };
    snapshot = after;
    from = step.to;
    return step;
  });
  return { steps, snapshot: { value: snapshot.value, context: snapshot.context } };
};
