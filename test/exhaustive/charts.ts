import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
  type InspectionEvent,
  initialTransition,
  transition,
} from "xstate";
import type { OutboxEffect, OutboxEvent } from "../../src/machines/outbox/events.ts";
import { type OutboxSnapshot, outboxMachine } from "../../src/machines/outbox/machine.ts";
import type { Effect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import { outboxId, supervisorMachine } from "../../src/machines/supervisor/machine.ts";
import type { TaskEffect, TaskEvent, TaskInput } from "../../src/machines/task/events.ts";
import { type StoredSnapshot, type TaskSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import { nameOfTransition } from "../model/transitions.ts";
import { createNumbering } from "./numbering.ts";

/*
 * The charts of one process, stepped by XState's own `transition()`. Snapshots are known by numbers, and each step of a chart is
 * taken once: most worlds differ in one chart only.
 *
 * Time is left out. All that happens has the same time, and whatever is due at some time is due at once: a deadline may pass
 * before anything else, or after it. Counts that only make pauses longer stop at 1.
 */

/** The time of everything. */
export const AT = 1;

export const PARENT = "ses_parent";

/** No chart. */
export const NONE = 0;

/** The charts of a process: the number of each task's snapshot, in the order of the tasks, and that of the parent's outbox. */
export interface Charts {
  tasks: readonly number[];
  outbox: number;
}

/** What follows from an event within the charts of a process. */
export interface Reaction {
  charts: Charts;
  /** Which tasks took a step. */
  stepped: readonly number[];
  hasOutboxStepped: boolean;
  effects: readonly Effect[];
}

/** An action that a transition leads to, by name. */
interface Action {
  type: string;
  params?: unknown;
}

/** Other charts than those of the product: those with a mistake planted. */
export interface Machines {
  task: typeof taskMachine;
  outbox: typeof outboxMachine;
}

const now = (time: number | undefined) => time && AT;
const once = (count: number) => Math.min(count, 1);

const timelessOutbox = ({ value, context }: OutboxSnapshot) => ({
  value,
  context: {
    ...context,
    attempts: once(context.attempts),
    looks: once(context.looks),
    notFoundCount: once(context.notFoundCount),
    nextDeadline: now(context.nextDeadline),
    parentReadyAt: now(context.parentReadyAt),
  },
});

/** What only matters while a run is under way. */
const OF_LIVE_RUNS = {
  sendAttempts: 0,
  stopAttempts: 0,
  failedChecks: 0,
  interruptions: 0,
  interruptedAt: undefined,
  lastStepAt: undefined,
  waitingSince: undefined,
  queuedUntil: undefined,
  recovery: "continue",
} satisfies Partial<TaskSnapshot["context"]>;

/** Checks of a run have no numbers: of those that are on their way only the newest is kept. */
const timelessTask = ({ value, context }: StoredSnapshot) => ({
  value,
  context: {
    ...context,
    checkId: 0,
    nextDeadline: now(context.nextDeadline),
    ...(context.completedAt === undefined ? {} : OF_LIVE_RUNS),
  },
});

/** Numbers of snapshots, without their times. */
export const createSnapshots = <Snapshot extends AnyMachineSnapshot>(
  machine: AnyStateMachine,
  timeless: (snapshot: Snapshot) => { value: unknown; context: unknown },
) => {
  const numbering = createNumbering<object>();
  const snapshots: Snapshot[] = [];
  return {
    numberOf: (snapshot: Snapshot): number => {
      const plain = timeless(snapshot);
      const number = numbering.numberOf(plain);
      snapshots[number - 1] ??= machine.resolveState(plain as never) as Snapshot;
      return number;
    },
    at: (number: number): Snapshot => {
      const snapshot = snapshots[number - 1];
      if (!snapshot) throw new Error(`there is no snapshot ${number}`);
      return snapshot;
    },
  };
};

/** What an event leads to in one chart. */
export interface Step<E> {
  after: number;
  hasStepped: boolean;
  effects: E[];
}

/** The transitions that an event leads to in a chart, by name; those that need no event are among them. */
const transitionsFrom = (machine: AnyStateMachine, snapshot: AnyMachineSnapshot, event: EventObject): string[] => {
  const taken: string[] = [];
  const inspect = (observation: InspectionEvent) => {
    if (observation.type === "@xstate.microstep") taken.push(...observation._transitions.map(nameOfTransition));
  };
  createActor(machine, { snapshot, inspect }).start().send(event);
  return taken;
};

/** What the chart wants done outside. */
export const effectsOf = <E>(actions: unknown): E[] =>
  (actions as Action[]).flatMap(({ type, params }) => (type === "emitEffect" ? [params as E] : []));

/** Takes the steps of a chart, and notes which transitions that were. */
export const createSteps = <Snapshot extends AnyMachineSnapshot, E>(
  machine: AnyStateMachine,
  snapshots: ReturnType<typeof createSnapshots<Snapshot>>,
  taken: Set<string>,
) => {
  const steps = new Map<string, Step<E>>();
  return (before: number, event: EventObject): Step<E> => {
    const key = `${before} ${JSON.stringify(event)}`;
    const known = steps.get(key);
    if (known) return known;
    const from = snapshots.at(before);
    const [to, actions] = transition(machine, from, event);
    for (const name of transitionsFrom(machine, from, event)) taken.add(name);
    const effects = effectsOf<E>(actions);
    const step = { after: snapshots.numberOf(to as Snapshot), hasStepped: to !== from, effects };
    steps.set(key, step);
    return step;
  };
};

export type ChartSteps = ReturnType<typeof createCharts>;

/** Creates the charts of the tasks with these ids. */
export const createCharts = (
  taskIds: readonly string[],
  { task, outbox }: Machines = { task: taskMachine, outbox: outboxMachine },
) => {
  const tasks = createSnapshots<TaskSnapshot>(task, timelessTask);
  const outboxes = createSnapshots<OutboxSnapshot>(outbox, timelessOutbox);
  const taken = { task: new Set<string>(), outbox: new Set<string>() };
  const stepTask = createSteps<TaskSnapshot, TaskEffect>(task, tasks, taken.task);
  const stepOutbox = createSteps<OutboxSnapshot, OutboxEffect>(outbox, outboxes, taken.outbox);
  const [firstOutbox] = initialTransition(outbox, { parentSessionID: PARENT });
  const events = createNumbering<SupervisorEvent>();
  const reactions = new Map<string, Reaction>();

  const react = ({ tasks: before, outbox: outboxBefore }: Charts, first: SupervisorEvent): Reaction => {
    const running = [...before];
    let outboxNow = outboxBefore;
    const stepped = new Set<number>();
    let hasOutboxStepped = false;
    const effects: Effect[] = [];
    const queue: SupervisorEvent[] = [first];

    const tell = (id: string, event: TaskEvent | OutboxEvent) => {
      const isForOutbox = id === outboxId(PARENT);
      const index = taskIds.indexOf(id);
      const at = isForOutbox ? outboxNow : (running[index] ?? NONE);
      const step = isForOutbox ? stepOutbox(at, event) : stepTask(at, event);
      if (isForOutbox) outboxNow = step.after;
      else running[index] = step.after;
      if (step.hasStepped && isForOutbox) hasOutboxStepped = true;
      if (step.hasStepped && !isForOutbox) stepped.add(index);
      for (const effect of step.effects) queue.push({ type: "EFFECT", at: AT, effect });
    };

    for (let event = queue.shift(); event; event = queue.shift()) {
      const context = {
        tasks: taskIds.filter((_, index) => running[index] !== NONE).toSorted(),
        outboxes: outboxNow === NONE ? [] : [PARENT],
        launches: [],
      };
      const supervisor = supervisorMachine.resolveState({ value: "open", context });
      const [, actions] = transition(supervisorMachine, supervisor, event);
      for (const { type, params } of actions as unknown as Action[]) {
        if (type === "tell") {
          const { id, event } = params as { id: string; event: TaskEvent | OutboxEvent };
          tell(id, event);
        } else if (type === "startOutbox") outboxNow = outboxes.numberOf(firstOutbox as OutboxSnapshot);
        else if (type === "startTask") {
          const { facts } = params as TaskInput;
          running[taskIds.indexOf(facts.sessionID)] = tasks.numberOf(params as TaskSnapshot);
        } else if (type === "perform") effects.push(params as Effect);
        else throw new Error(`the supervisor does what is not known here: ${type}`);
      }
    }
    return { charts: { tasks: running, outbox: outboxNow }, stepped: [...stepped], hasOutboxStepped, effects };
  };

  return {
    tasks,
    outboxes,
    /** The transitions that were taken so far, by name. */
    taken,
    /** Gives the charts of a process an event, and all that follows from it. */
    react: (charts: Charts, event: SupervisorEvent): Reaction => {
      const key = `${charts.tasks} ${charts.outbox} ${events.numberOf(event)}`;
      const known = reactions.get(key);
      if (known) return known;
      const reaction = react(charts, event);
      reactions.set(key, reaction);
      return reaction;
    },
    /** Steps one task, whatever its effects. */
    step: (snapshot: number, event: TaskEvent): number => stepTask(snapshot, event).after,
    begin: (input: TaskInput): number => tasks.numberOf(initialTransition(task, input)[0] as TaskSnapshot),
  };
};
