import { type AnyActorRef, createActor, type InspectionEvent } from "xstate";
import { isIdle, type OutboxSnapshot } from "../../machines/outbox/machine.ts";
import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import { outboxActor, outboxId, supervisorMachine, taskActor } from "../../machines/supervisor/machine.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";

/** What the machines did and want done, since it was taken last. */
export interface Transitions {
  /** Each event that a task accepted, and the snapshot that it led to. */
  steps: { taskId: string; event: TaskEvent; snapshot: TaskSnapshot }[];
  effects: Effect[];
  /** Outboxes that took a step, as they stand now, by parent. */
  outboxes: Map<string, OutboxSnapshot>;
  /** Parents whose outbox has nothing to tell any more. */
  idleOutboxes: string[];
}

/** What XState tells of an actor: that it is there, got an event, took a step. */
export type { InspectionEvent };

/** The actor that it tells of. */
export type InspectedRef = AnyActorRef;

/** Is told of everything that the supervisor and its actors do, as they do it. */
export type Inspect = (told: InspectionEvent) => void;

/** The supervisor and its actors, as they run. */
export interface ActorSystem {
  /** Gives the supervisor an event. All that follows from it inside the machines has happened when this returns. */
  feed(event: SupervisorEvent): void;
  drain(): Transitions;
  /** Live tasks by id. */
  tasks: ReadonlyMap<string, TaskSnapshot>;
  /** Outboxes that have had something to do, by parent session id. */
  outboxes: ReadonlyMap<string, OutboxSnapshot>;
  /** True for the session of a live task and for a parent that has an outbox. */
  supervises(sessionID: string): boolean;
  /** True while a task of this parent lives. */
  hasTasksOf(parentSessionID: string): boolean;
  reapTask(taskId: string): void;
  reapOutbox(parentSessionID: string): void;
  /** Another outbox takes over from one that threw. True when the id was an outbox's. */
  replaceOutbox(id: string): boolean;
  stop(): void;
}

/**
 * An actor logic that reports each step it takes. A refused event leads to the very same snapshot: that is no step; nor
 * is being stopped, which is XState's own.
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

/** What watches must not harm what is watched: XState would take its throw for the actor's. It is told nothing more then. */
const guarded = (inspect: Inspect, log: Log): Inspect => {
  let failed = false;
  return (told) => {
    if (failed) return;
    try {
      inspect(told);
    } catch (error) {
      failed = true;
      log.error("the machines can be watched no more", { reason: errorMessage(error) });
    }
  };
};

const nothing = (): Transitions => ({ steps: [], effects: [], outboxes: new Map(), idleOutboxes: [] });

/**
 * Starts the supervisor. The only file outside `machines/` that imports XState. Without `inspect` XState has nobody to
 * tell, and tells nothing.
 */
export const startActorSystem = (clock: Clock, log: Log, inspect?: Inspect): ActorSystem => {
  const tasks = new Map<string, TaskSnapshot>();
  const outboxes = new Map<string, OutboxSnapshot>();
  let taken = nothing();

  const machine = supervisorMachine.provide({
    actors: {
      task: withStepObserver(taskActor, (snapshot: TaskSnapshot, event: TaskEvent) => {
        const taskId = snapshot.context.facts.sessionID;
        tasks.set(taskId, snapshot);
        taken.steps.push({ taskId, event, snapshot });
      }),
      outbox: withStepObserver(outboxActor, (snapshot: OutboxSnapshot) => {
        const { parentSessionID } = snapshot.context;
        outboxes.set(parentSessionID, snapshot);
        taken.outboxes.set(parentSessionID, snapshot);
        if (isIdle(snapshot)) taken.idleOutboxes.push(parentSessionID);
      }),
    },
    actions: { perform: (_, effect) => void taken.effects.push(effect) },
  });

  const start = () => {
    const actor = createActor(machine, inspect ? { inspect: guarded(inspect, log) } : {});
    // Without an observer, an error of the actor would be the whole process's.
    actor.subscribe({ error: (error) => log.error("a fault in the supervisor", { reason: errorMessage(error) }) });
    return actor.start();
  };

  let supervisor = start();

  /** What these tasks' parents were not told yet, as far as is known, is owed anew. */
  const oweAgain = (snapshots: TaskSnapshot[]) => {
    for (const { context, value } of snapshots) {
      if (value.notice === "none" || value.notice === "held" || !context.lastRunResult) continue;
      supervisor.send({ type: "EFFECT", at: clock.now(), effect: { type: "queueNotice", end: context.lastRunResult } });
    }
  };

  /** The supervisor threw: a fault of ours. Another one takes over its tasks. */
  const replace = () => {
    const orphans = [...tasks.values()];
    outboxes.clear();
    supervisor = start();
    for (const { value, context } of orphans) supervisor.send({ type: "RESTORE", snapshot: { value, context } });
    oweAgain(orphans);
  };

  /** To be restored is no step, so it shows in no other way. */
  const noteRestored = (taskId: string) => {
    const actor = supervisor.getSnapshot().children[taskId];
    if (actor && !tasks.has(taskId)) tasks.set(taskId, actor.getSnapshot() as TaskSnapshot);
  };

  const feed = (event: SupervisorEvent) => {
    supervisor.send(event);
    if (event.type === "RESTORE") noteRestored(event.snapshot.context.facts.sessionID);
    if (supervisor.getSnapshot().status === "error") replace();
  };

  return {
    feed,
    drain: () => {
      const since = taken;
      taken = nothing();
      return since;
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
      oweAgain([...tasks.values()].filter(({ context }) => context.facts.parentSessionID === parentSessionID));
      return true;
    },
    stop: () => {
      feed({ type: "CLOSE" });
      supervisor.stop();
    },
  };
};
