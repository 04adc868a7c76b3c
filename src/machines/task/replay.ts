import { initialTransition, transition } from "xstate";
import { statePath } from "../chart.ts";
import type { TaskContext, TaskEffect, TaskEvent, TaskInput } from "./events.ts";
import { refusalReason, type StoredSnapshot, type TaskSnapshot, taskMachine } from "./machine.ts";

/** A task's journal, and the snapshot that was stored with it. */
export interface Journal {
  taskId: string;
  /** The chart's input; null when the journal does not go back to the launch. */
  origin: TaskInput | null;
  /** Every event that the chart accepted, oldest first. */
  events: TaskEvent[];
  snapshot: StoredSnapshot;
}

/** The state of each region as text: that of `run` may be `stopping.aborting`. */
export type Regions = Record<keyof TaskSnapshot["value"], string>;

/** One event of a journal, and what it led to. */
export interface ReplayStep {
  event: TaskEvent;
  from: Regions;
  to: Regions;
  /** The events that the regions raised for each other. */
  raised: TaskEvent[];
  /** What the chart wanted done. */
  effects: TaskEffect[];
  /** The fields of the context that changed. */
  changed: (keyof TaskContext)[];
  /** Why the chart refused the event, in words that follow "task …"; undefined when it accepted it. */
  refused: string | undefined;
}

/** A replayed journal. */
export interface Replay {
  steps: ReplayStep[];
  /** The snapshot that it leads to. */
  snapshot: StoredSnapshot;
}

/** XState's name for an action that raises an event. */
const RAISE = "xstate.raise";

interface Action {
  type: string;
  params?: unknown;
}

/** Returns the state of each region as text. */
export const regionsOf = ({ value }: StoredSnapshot): Regions => ({
  lifecycle: value.lifecycle,
  run: statePath(value.run),
  notice: statePath(value.notice),
  attention: statePath(value.attention),
  steering: statePath(value.steering),
  nextRun: statePath(value.nextRun),
});

const raisedEvents = ({ type, params }: Action): TaskEvent[] =>
  type === RAISE ? [(params as { event: TaskEvent }).event] : [];

const effectsOf = ({ type, params }: Action): TaskEffect[] => (type === "emitEffect" ? [params as TaskEffect] : []);

const changedFields = (before: TaskContext, after: TaskContext): ReplayStep["changed"] =>
  (Object.keys(after) as (keyof TaskContext)[]).filter((key) => before[key] !== after[key]);

/**
 * Returns the chart with a ready initial snapshot. `transition` makes an actor each time, which computes one: without
 * input that throws, XState catches it, and it takes twice as long as all the rest.
 */
const withKnownInitialSnapshot = (snapshot: TaskSnapshot): typeof taskMachine =>
  Object.assign(Object.create(taskMachine) as typeof taskMachine, { getInitialSnapshot: () => snapshot });

interface Applied {
  after: TaskSnapshot;
  actions: Action[];
  fault?: string;
}

/** An event of a journal that another version wrote, or that somebody edited, may make the chart throw. */
const applyEvent = (machine: typeof taskMachine, before: TaskSnapshot, event: TaskEvent): Applied => {
  try {
    const [after, actions] = transition(machine, before, event);
    return { after, actions };
  } catch (error) {
    return { after: before, actions: [], fault: `cannot take it: ${error instanceof Error ? error.message : error}` };
  }
};

/** What one event of a journal made of the chart. */
interface Transition extends Applied {
  event: TaskEvent;
  before: TaskSnapshot;
}

/**
 * Takes a chart through its journal, from its input on, and returns each transition. Nothing is done outside: effects are
 * data. An event that is refused leads to the same snapshot, as in a live task.
 */
export function* transitionsOf(origin: TaskInput, events: readonly TaskEvent[]): Generator<Transition> {
  let [before] = initialTransition(taskMachine, origin);
  const machine = withKnownInitialSnapshot(before);
  for (const event of events) {
    const applied = applyEvent(machine, before, event);
    yield { event, before, ...applied };
    before = applied.after;
  }
}

/** Describes what a transition led to. */
const stepOf = ({ event, before, after, actions, fault }: Transition): ReplayStep => {
  const from = regionsOf(before);
  if (after === before) {
    const refused = fault ?? refusalReason(before, event) ?? "makes nothing of it";
    return { event, from, to: from, raised: [], effects: [], changed: [], refused };
  }
  return {
    event,
    from,
    to: regionsOf(after),
    raised: actions.flatMap(raisedEvents),
    effects: actions.flatMap(effectsOf),
    changed: changedFields(before.context, after.context),
    refused: undefined,
  };
};

/** Returns what an event would lead to in a snapshot. */
export const tryEvent = (before: TaskSnapshot, event: TaskEvent): ReplayStep =>
  stepOf({ event, before, ...applyEvent(withKnownInitialSnapshot(before), before, event) });

/** A replayed journal, with where the chart stood on the way. */
export interface Walk {
  steps: ReplayStep[];
  /** Before the first event, and after each: one more than there are steps. */
  snapshots: [TaskSnapshot, ...TaskSnapshot[]];
  /** What the chart wanted done when it began. */
  begin: TaskEffect[];
}

/** Replays a task's journal event by event, and keeps every snapshot. */
export const walk = (origin: TaskInput, events: readonly TaskEvent[]): Walk => {
  const [first, actions] = initialTransition(taskMachine, origin);
  const transitions = [...transitionsOf(origin, events)];
  return {
    steps: transitions.map(stepOf),
    snapshots: [first, ...transitions.map(({ after }) => after)],
    begin: actions.flatMap(effectsOf),
  };
};

/** Replays a task's journal event by event. */
export const replay = (origin: TaskInput, events: readonly TaskEvent[]): Replay => {
  const { steps, snapshots } = walk(origin, events);
  const { value, context } = snapshots.at(-1) ?? snapshots[0];
  return { steps, snapshot: { value, context } };
};
