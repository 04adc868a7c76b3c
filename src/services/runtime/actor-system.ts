// ADR-008 in docs/decisions.md
import { type AnyActorRef, createActor, type InspectionEvent } from "xstate";
import { isIdle, type OutboxSnapshot } from "../../machines/outbox/machine.ts";
import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import { outboxActor, outboxId, supervisorMachine, taskActor } from "../../machines/supervisor/machine.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";

/** What the charts did since the last `drain`. */
export interface Transitions {
  /** Each event that a task accepted, with the snapshot that followed. */
  steps: { taskId: string; event: TaskEvent; snapshot: TaskSnapshot }[];
  /** The outboxes that took a step, by parent, with their newest snapshots. */
  outboxes: Map<string, OutboxSnapshot>;
  /** Parents whose outbox has nothing left to deliver. */
  idleOutboxes: string[];
}

/** An observation that XState reports of an actor: it was created, received an event, or took a step. */
export type { InspectionEvent };

/** The actor that an observation is about. */
export type InspectedRef = AnyActorRef;

/** Receives everything that XState observes of the supervisor and its actors, as it happens. */
export type Inspect = (observation: InspectionEvent) => void;

/** The running supervisor with the actors of tasks and outboxes. */
export interface ActorSystem {
  /** Gives the supervisor an event. All that follows from it inside the charts has happened when this returns. */
  feed(event: SupervisorEvent): void;
  /** Returns what has happened since the last call, and forgets it. */
  drain(): Transitions;
  /** Returns what the charts have asked for since the last call, and forgets it. */
  takeEffects(): Effect[];
  /** The snapshots of live tasks by id. */
  tasks: ReadonlyMap<string, TaskSnapshot>;
  /** The snapshots of outboxes that have taken a step, by parent session id. */
  outboxes: ReadonlyMap<string, OutboxSnapshot>;
  /** True for the session of a live task and for a parent that has an outbox. */
  supervises(sessionID: string): boolean;
  /** True while the parent has a live task. */
  hasTasksOf(parentSessionID: string): boolean;
  /** Stops the actor of a task. */
  reapTask(taskId: string): void;
  /** Stops the actor of a parent's outbox. */
  reapOutbox(parentSessionID: string): void;
  /** Replaces an outbox that threw by a new one. Returns false when the id is not an outbox's. */
  replaceOutbox(id: string): boolean;
  stop(): void;
}

/**
 * Wraps an actor logic so that it reports each step. A refused event, which leads to the very same snapshot, is no step;
 * nor is the stop of the actor, which is XState's own.
 */
const withStepObserver = <
  Snapshot extends { status: string },
  Event,
  Scope,
  Logic extends { transition(s: Snapshot, e: Event, scope: Scope): Snapshot },
>(
  logic: Logic & { transition(s: Snapshot, e: Event, scope: Scope): Snapshot },
  onStep: (snapshot: Snapshot, event: Event) => void,
): Logic =>
  Object.assign(Object.create(logic) as Logic, {
    transition: (before: Snapshot, event: Event, scope: Scope): Snapshot => {
      const after = logic.transition(before, event, scope);
      if (after !== before && after.status === "active") onStep(after, event);
      return after;
    },
  });

/** Wraps an observer, whose throw XState would take for the actor's. After the first throw it receives nothing more. */
const guarded = (inspect: Inspect, log: Log): Inspect => {
  let failed = false;
  return (observation) => {
    if (failed) return;
    try {
      inspect(observation);
    } catch (error) {
      failed = true;
      log.error("the charts cannot be observed any more", { reason: errorMessage(error) });
    }
  };
};

const noTransitions = (): Transitions => ({ steps: [], outboxes: new Map(), idleOutboxes: [] });

/** Starts the supervisor. No other file outside `machines/` runs XState. Without `inspect` XState makes no observations. */
export const startActorSystem = (clock: Clock, log: Log, inspect?: Inspect): ActorSystem => {
  const tasks = new Map<string, TaskSnapshot>();
  const outboxes = new Map<string, OutboxSnapshot>();
  let transitions = noTransitions();
  let effects: Effect[] = [];

  const machine = supervisorMachine.provide({
    actors: {
      task: withStepObserver(taskActor, (snapshot: TaskSnapshot, event: TaskEvent) => {
        const taskId = snapshot.context.facts.sessionID;
        tasks.set(taskId, snapshot);
        transitions.steps.push({ taskId, event, snapshot });
      }),
      outbox: withStepObserver(outboxActor, (snapshot: OutboxSnapshot) => {
        const { parentSessionID } = snapshot.context;
        outboxes.set(parentSessionID, snapshot);
        transitions.outboxes.set(parentSessionID, snapshot);
        if (isIdle(snapshot)) transitions.idleOutboxes.push(parentSessionID);
      }),
    },
    actions: { perform: (_, effect) => void effects.push(effect) },
  });

  const start = () => {
    const actor = createActor(machine, inspect ? { inspect: guarded(inspect, log) } : {});
    // Without this, XState would throw the actor's error as an uncaught error of the process.
    actor.subscribe({ error: (error) => log.error("a fault in the supervisor", { reason: errorMessage(error) }) });
    return actor.start();
  };

  let supervisor = start();

  /** Queues the notices of these tasks anew, except those that are known to be delivered. */
  const queueNoticesAgain = (snapshots: TaskSnapshot[]) => {
    for (const { context, value } of snapshots) {
      if (value.notice === "none" || value.notice === "held" || !context.lastRunResult) continue;
      supervisor.send({ type: "EFFECT", at: clock.now(), effect: { type: "queueNotice", end: context.lastRunResult } });
    }
  };

  /** Replaces a supervisor that threw, which is a fault of ours. The new one takes over its tasks. */
  const replaceSupervisor = () => {
    const snapshots = [...tasks.values()];
    outboxes.clear();
    supervisor = start();
    for (const { value, context } of snapshots) supervisor.send({ type: "RESTORE", snapshot: { value, context } });
    queueNoticesAgain(snapshots);
  };

  /** Records the snapshot of a restored task, which no step reports. */
  const recordRestored = (taskId: string) => {
    const actor = supervisor.getSnapshot().children[taskId];
    if (actor && !tasks.has(taskId)) tasks.set(taskId, actor.getSnapshot() as TaskSnapshot);
  };

  const feed = (event: SupervisorEvent) => {
    supervisor.send(event);
    if (event.type === "RESTORE") recordRestored(event.snapshot.context.facts.sessionID);
    if (supervisor.getSnapshot().status === "error") replaceSupervisor();
  };

  return {
    feed,
    drain: () => {
      const drained = transitions;
      transitions = noTransitions();
      return drained;
    },
    takeEffects: () => {
      const taken = effects;
      effects = [];
      return taken;
    },
    tasks,
    outboxes,
    supervises: (sessionID) => tasks.has(sessionID) || sessionID in supervisor.getSnapshot().context.outboxes,
    hasTasksOf: (parentSessionID) => Object.values(supervisor.getSnapshot().context.tasks).includes(parentSessionID),
    reapTask: (taskId) => {
      tasks.delete(taskId);
      feed({ type: "REAP_TASK", id: taskId });
    },
    reapOutbox: (parentSessionID) => {
      outboxes.delete(parentSessionID);
      feed({ type: "REAP_OUTBOX", id: parentSessionID });
    },
    replaceOutbox: (id) => {
      const parentSessionID = id.slice(outboxId("").length);
      if (id !== outboxId(parentSessionID)) return false;
      outboxes.delete(parentSessionID);
      queueNoticesAgain([...tasks.values()].filter(({ context }) => context.facts.parentSessionID === parentSessionID));
      return true;
    },
    stop: () => {
      feed({ type: "CLOSE" });
      supervisor.stop();
    },
  };
};
