import type { AnyActorRef, InspectionEvent } from "xstate";
import { isIdle, type OutboxSnapshot } from "../../machines/outbox/machine.ts";
import { createSupervisor } from "../../machines/supervisor/actors.ts";
import type { Effect, FailedActor, SupervisorEvent } from "../../machines/supervisor/events.ts";
import { parentOfOutbox } from "../../machines/supervisor/machine.ts";
import { hasId } from "../../machines/supervisor/sorted-ids.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { createDeadlines } from "./deadlines.ts";
import { createTaskIndex } from "./task-index.ts";

/** What the charts did since the last `drain`. */
export interface Transitions {
  /** The tasks that were launched, as they began: that is no step of theirs. */
  launched: TaskSnapshot[];
  /** Each event that a task accepted, with the snapshot that followed. */
  steps: { taskId: string; event: TaskEvent; snapshot: TaskSnapshot }[];
  /** The outboxes that took a step, by parent, with their newest snapshots. */
  outboxes: Map<string, OutboxSnapshot>;
  /** Parents whose outbox has nothing left to deliver. */
  idleOutboxes: string[];
  /** The actors that threw. */
  failed: FailedActor[];
}

/** An observation that XState reports of an actor: it was created, received an event, or took a step. */
export type { InspectionEvent };

/** The actor that an observation is about. */
export type InspectedRef = AnyActorRef;

/** Receives everything that XState observes of the supervisor and its actors, as it happens. */
export type Inspect = (observation: InspectionEvent) => void;

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

const earlier = (one = Number.POSITIVE_INFINITY, other = Number.POSITIVE_INFINITY): number | undefined => {
  const earliest = Math.min(one, other);
  return Number.isFinite(earliest) ? earliest : undefined;
};

const noTransitions = (): Transitions => ({
  launched: [],
  steps: [],
  outboxes: new Map(),
  idleOutboxes: [],
  failed: [],
});

/** Starts the supervisor. No other file outside `machines/` runs XState. Without `inspect` XState makes no observations. */
export const startActorSystem = (clock: Clock, log: Log, inspect?: Inspect) => {
  const live = createTaskIndex();
  const tasks = live.snapshots;
  const outboxes = new Map<string, OutboxSnapshot>();
  const deadlines = { tasks: createDeadlines(), outboxes: createDeadlines() };
  let transitions = noTransitions();
  let effects: Effect[] = [];

  const recordTask = (snapshot: TaskSnapshot) => {
    live.set(snapshot);
    deadlines.tasks.set(snapshot.context.facts.sessionID, snapshot.context.nextDeadline);
  };

  const forgetTask = (taskId: string) => {
    live.delete(taskId);
    deadlines.tasks.set(taskId, undefined);
  };

  const recordOutbox = (snapshot: OutboxSnapshot) => {
    const { parentSessionID, nextDeadline, parentReadyAt } = snapshot.context;
    outboxes.set(parentSessionID, snapshot);
    deadlines.outboxes.set(parentSessionID, earlier(nextDeadline, parentReadyAt));
  };

  const forgetOutbox = (parentSessionID: string) => {
    outboxes.delete(parentSessionID);
    deadlines.outboxes.set(parentSessionID, undefined);
  };

  const start = () => {
    const created = createSupervisor({
      onEffect: (effect) => effects.push(effect),
      onTaskStep: (snapshot, event) => {
        recordTask(snapshot);
        transitions.steps.push({ taskId: snapshot.context.facts.sessionID, event, snapshot });
      },
      onOutboxStep: (snapshot) => {
        const { parentSessionID } = snapshot.context;
        recordOutbox(snapshot);
        transitions.outboxes.set(parentSessionID, snapshot);
        if (isIdle(snapshot)) transitions.idleOutboxes.push(parentSessionID);
      },
      onFailure: (failed) => transitions.failed.push(failed),
      inspect: inspect && guarded(inspect, log),
    });
    // Without this, XState would throw the actor's error as an uncaught error of the process.
    created.ref.subscribe({
      error: (error) => log.error("a fault in the supervisor", { reason: errorMessage(error) }),
    });
    created.ref.start();
    return created;
  };

  let supervisor = start();

  /** Queues the notices of these tasks anew, except those that are known to be delivered. */
  const queueNoticesAgain = (snapshots: TaskSnapshot[]) => {
    for (const { context, value } of snapshots) {
      if (value.notice === "none" || value.notice === "held" || !context.lastRunResult) continue;
      supervisor.ref.send({
        type: "EFFECT",
        at: clock.now(),
        effect: { type: "queueNotice", end: context.lastRunResult },
      });
    }
  };

  const reapOutbox = (parentSessionID: string) => {
    forgetOutbox(parentSessionID);
    feed({ type: "REAP_OUTBOX", id: parentSessionID });
  };

  const queueNoticesOf = (parentSessionID: string) => queueNoticesAgain(live.of(parentSessionID));

  /** Replaces a supervisor that threw, which is a fault of ours. The new one takes over its tasks. */
  const replaceSupervisor = () => {
    const snapshots = [...tasks.values()];
    for (const parentSessionID of outboxes.keys()) forgetOutbox(parentSessionID);
    supervisor = start();
    for (const { value, context } of snapshots) supervisor.ref.send({ type: "RESTORE", snapshot: { value, context } });
    queueNoticesAgain(snapshots);
  };

  /** Records the first snapshot of a task, which no step reports, and returns it; undefined when the task is known. */
  const recordFirst = (taskId: string): TaskSnapshot | undefined => {
    const actor = supervisor.actors.get(taskId);
    if (!actor || tasks.has(taskId)) return undefined;
    const snapshot = actor.getSnapshot() as TaskSnapshot;
    recordTask(snapshot);
    return snapshot;
  };

  const feed = (event: SupervisorEvent) => {
    supervisor.ref.send(event);
    if (supervisor.ref.getSnapshot().status === "error") replaceSupervisor();
    if (event.type === "RESTORE") recordFirst(event.snapshot.context.facts.sessionID);
    if (event.type === "LAUNCH") transitions.launched.push(...[recordFirst(event.task.facts.sessionID) ?? []].flat());
  };

  return {
    /** Gives the supervisor an event. All that follows from it inside the charts has happened when this returns. */
    feed,
    /** Returns what has happened since the last call, and forgets it. */
    drain: (): Transitions => {
      const drained = transitions;
      transitions = noTransitions();
      return drained;
    },
    /** Returns what the charts have asked for since the last call, and forgets it. */
    takeEffects: (): Effect[] => {
      const taken = effects;
      effects = [];
      return taken;
    },
    /** The snapshots of live tasks by id. */
    tasks,
    /** The snapshots of outboxes that have taken a step, by parent session id. */
    outboxes,
    /** The deadlines of live tasks by id, and of outboxes by parent session id. */
    deadlines,
    /** True for the session of a live task and for a parent that has an outbox. */
    supervises: (sessionID: string): boolean =>
      tasks.has(sessionID) || hasId(supervisor.ref.getSnapshot().context.outboxes, sessionID),
    /** Returns the live tasks of a parent session. */
    tasksOf: live.of,
    hasTasksOf: live.hasTasksOf,
    awaitsTasks: live.awaitsTasks,
    awaitedBy: live.awaitedBy,
    active: live.active,
    /** Stops the actor of a task. */
    reapTask: (taskId: string) => {
      forgetTask(taskId);
      feed({ type: "REAP_TASK", id: taskId });
    },
    /** Stops the actor of a parent's outbox. */
    reapOutbox,
    /** Stops the actor of a parent's outbox with all that it has to deliver; the parent's tasks here queue their notices anew. */
    restartOutbox: (parentSessionID: string) => {
      reapOutbox(parentSessionID);
      // A step before that would be stored with what it had to deliver.
      transitions.outboxes.delete(parentSessionID);
      queueNoticesOf(parentSessionID);
    },
    /** Replaces an outbox that threw by a new one. Returns false when the id is not an outbox's. */
    replaceOutbox: (id: string): boolean => {
      const parentSessionID = parentOfOutbox(id);
      if (parentSessionID === undefined) return false;
      forgetOutbox(parentSessionID);
      queueNoticesOf(parentSessionID);
      return true;
    },
    /** Closes the supervisor and lets go of all actors: nothing reaches them any more, so nothing comes from them. */
    stop: () => feed({ type: "CLOSE" }),
  };
};
