import {
  type AnyActorRef,
  createActor,
  type EventObject,
  enqueueActions,
  type InspectionEvent,
  type MachineContext,
  sendParent,
  sendTo,
  stopChild,
} from "xstate";
import type { LaunchContext, LaunchEffect, LaunchEvent } from "../../machines/launch/events.ts";
import { type LaunchSnapshot, launchMachine } from "../../machines/launch/machine.ts";
import type { LaunchJournal } from "../../machines/launch/replay.ts";
import type { OutboxContext, OutboxEffect, OutboxEvent } from "../../machines/outbox/events.ts";
import { isIdle, type OutboxSnapshot, outboxMachine } from "../../machines/outbox/machine.ts";
import type { ActorEffect, Effect, FailedActor, SupervisorEvent } from "../../machines/supervisor/events.ts";
import {
  hasId,
  type LaunchActorInput,
  launchActorId,
  launchOfActor,
  outboxId,
  parentOfOutbox,
  supervisorMachine,
  type TaskActorInput,
} from "../../machines/supervisor/machine.ts";
import type { TaskContext, TaskEffect, TaskEvent } from "../../machines/task/events.ts";
import { type TaskSnapshot, taskMachine } from "../../machines/task/machine.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log, logFault } from "../platform/log.ts";
import { createDeadlines, createTaskIndex } from "./chart-index.ts";

/** What the charts did since the last `drain`. */
export interface Transitions {
  /** The tasks that were launched, as they began: that is no step of theirs. */
  launched: TaskSnapshot[];
  /** How they were launched, by task id. */
  launchJournals: Map<string, LaunchJournal>;
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
  launchJournals: new Map(),
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
  const launches = new Map<string, LaunchSnapshot>();
  const launchJournals = new Map<string, LaunchJournal>();
  const deadlines = { tasks: createDeadlines(), outboxes: createDeadlines(), launches: createDeadlines() };
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

  const recordLaunch = (snapshot: LaunchSnapshot, event?: LaunchEvent) => {
    const { id, nextDeadline, sessionID } = snapshot.context;
    const journal = launchJournals.get(id);
    if (event) journal?.events.push(event);
    if (snapshot.value === "started" && journal && sessionID !== undefined) {
      transitions.launchJournals.set(sessionID, journal);
    }
    if (snapshot.status !== "active") return forgetLaunch(id);
    launches.set(id, snapshot);
    deadlines.launches.set(id, nextDeadline);
  };

  /** Begins the journal of a launch; of one that goes on where it stood, its first events are not known. */
  const beginLaunch = (input: LaunchActorInput, snapshot: LaunchSnapshot) => {
    const { id, parentSessionID: _, value, context: __, left, ...begin } = input;
    if (!value && !left) launchJournals.set(id, { input: begin, events: [] });
    recordLaunch(snapshot);
  };

  const forgetLaunch = (launchId: string) => {
    launches.delete(launchId);
    launchJournals.delete(launchId);
    deadlines.launches.set(launchId, undefined);
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
      onLaunchBegun: beginLaunch,
      onLaunchStep: recordLaunch,
      onFailure: (failed) => {
        const launchId = launchOfActor(failed.id);
        if (launchId !== undefined) forgetLaunch(launchId);
        transitions.failed.push(failed);
      },
      inspect: inspect && guarded(inspect, log),
    });
    // Without this, XState would throw the actor's error as an uncaught error of the process.
    created.ref.subscribe({ error: logFault(log, "a fault in the supervisor") });
    created.ref.start();
    return created;
  };

  let supervisor = start();

  /** Queues the notices of these tasks anew, except those that are known to be delivered. */
  const queueNoticesAgain = (snapshots: TaskSnapshot[]) => {
    for (const { context, value } of snapshots) {
      const end = context.lastRunResult;
      if (value.notice === "none" || value.notice === "held" || !end) continue;
      supervisor.ref.send({ type: "EFFECT", at: clock.now(), effect: { type: "queueNotice", end } });
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
    for (const { value, context } of launches.values()) {
      const { id, parentSessionID } = context;
      const launch = { id, parentSessionID };
      supervisor.ref.send({ type: "PREPARE", launch, snapshot: { value, context } });
    }
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
    const launched = event.type === "LAUNCH" ? recordFirst(event.task.facts.sessionID) : undefined;
    if (launched) transitions.launched.push(launched);
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
    /** The live tasks. */
    live,
    /** The snapshots of outboxes that have taken a step, by parent session id. */
    outboxes,
    /** The launches that are under way, or have left something, by id. */
    launches,
    /** What is known of their journals, by the same ids. */
    launchJournals,
    /** The deadlines of live tasks and of launches by id, and of outboxes by parent session id. */
    deadlines,
    /** True for the session of a live task and for a parent that has an outbox. */
    supervises: (sessionID: string): boolean =>
      tasks.has(sessionID) || hasId(supervisor.ref.getSnapshot().context.outboxes, sessionID),
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

/** Receives what a supervisor and its actors do. */
interface SupervisorObserver {
  /** An effect is for the services. */
  onEffect(effect: Effect): void;
  /** A task or an outbox took a step. A refused event is no step; nor is the stop of the actor, which is XState's own. */
  onTaskStep(snapshot: TaskSnapshot, event: TaskEvent): void;
  onOutboxStep(snapshot: OutboxSnapshot): void;
  /** A launch has an actor: this is where it stands. */
  onLaunchBegun(input: LaunchActorInput, snapshot: LaunchSnapshot): void;
  /** A launch took a step. Its last one ends its actor. */
  onLaunchStep(snapshot: LaunchSnapshot, event: LaunchEvent): void;
  /** An actor threw, and was removed. */
  onFailure(failed: FailedActor): void;
  inspect?: Inspect | undefined;
}

/** Makes something when it is first needed: XState takes milliseconds to provide a chart with actions, and a start needs none. */
const onceNeeded = <Made>(make: () => Made): (() => Made) => {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

/** Makes a machine report each step of its actors: XState's own observers are given snapshots without their events. */
const reportingSteps = <Machine, Snapshot extends { status: string }, Event, Scope>(
  machine: Machine & { transition(before: Snapshot, event: Event, scope: Scope): Snapshot },
  onStep: (snapshot: Snapshot, event: Event) => void,
): Machine => {
  const take = machine.transition.bind(machine);
  machine.transition = (before, event, scope) => {
    const after = take(before, event, scope);
    if (after !== before && after.status !== "stopped") onStep(after, event);
    return after;
  };
  return machine;
};

/** The action by which an actor sends an effect to the supervisor. */
const sendEffect = <
  Context extends MachineContext,
  Event extends EventObject & { at: number },
  AnyEffect extends ActorEffect,
>() =>
  sendParent<Context, Event, AnyEffect, SupervisorEvent, Event>(({ event: { at } }, effect) => ({
    ...{ type: "EFFECT", at, effect },
  }));

/**
 * Creates a supervisor that starts and stops actors, and sends them events. They are its children in all that XState does for
 * children: they share its system and its observer, send it their effects, and it learns when one throws. Only they are not
 * listed in its snapshot, where `spawnChild` puts children: XState copies that list for each spawn and each stop, and when the
 * supervisor ends once for each child, which took 6.7 s with 1,000 of them (measured). So they do not end with it, but are let
 * go: having no timers, promises or subscriptions, they act only on the supervisor's events.
 */
export const createSupervisor = ({
  onEffect,
  onTaskStep,
  onOutboxStep,
  onLaunchBegun,
  onLaunchStep,
  onFailure,
  inspect,
}: SupervisorObserver) => {
  const task = onceNeeded(() =>
    reportingSteps(
      taskMachine.provide({ actions: { emitEffect: sendEffect<TaskContext, TaskEvent, TaskEffect>() } }),
      onTaskStep,
    ),
  );
  const outbox = onceNeeded(() =>
    reportingSteps(
      outboxMachine.provide({ actions: { emitEffect: sendEffect<OutboxContext, OutboxEvent, OutboxEffect>() } }),
      onOutboxStep,
    ),
  );
  const launch = onceNeeded(() =>
    reportingSteps(
      launchMachine.provide({ actions: { emitEffect: sendEffect<LaunchContext, LaunchEvent, LaunchEffect>() } }),
      onLaunchStep,
    ),
  );
  /** By id: a task's id, `outboxId` of a parent, or `launchActorId` of a launch. */
  const actors = new Map<string, AnyActorRef>();

  const actorOf = (id: string): AnyActorRef => {
    const actor = actors.get(id);
    if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);
    return actor;
  };

  const machine = supervisorMachine.provide({
    actions: {
      perform: (_, effect) => onEffect(effect),
      reportFailure: (_, failed) => onFailure(failed),
      // As XState's own spawning does, these create the actor while the action is resolved, and start it as an action.
      startTask: enqueueActions(({ self, enqueue }, input: TaskActorInput) => {
        const { sessionID: id } = input.facts;
        const { value, context } = input;
        // A restored actor begins with its stored snapshot, which takes no step and has no effects.
        const restored = value && context ? { snapshot: task().resolveState({ value, context }) } : {};
        const actor = createActor(task(), { parent: self, id, input, ...restored });
        actors.set(id, actor);
        enqueue(() => void actor.start());
      }),
      startOutbox: enqueueActions(({ self, enqueue }, input: { parentSessionID: string }) => {
        const id = outboxId(input.parentSessionID);
        const actor = createActor(outbox(), { parent: self, id, input });
        actors.set(id, actor);
        enqueue(() => void actor.start());
      }),
      startLaunch: enqueueActions(({ self, enqueue }, input: LaunchActorInput) => {
        const id = launchActorId(input.id);
        const { value, context } = input;
        const restored = value && context ? { snapshot: launch().resolveState({ value, context }) } : {};
        const actor = createActor(launch(), { parent: self, id, src: "launch", input, ...restored });
        actors.set(id, actor);
        enqueue(() => {
          actor.start();
          onLaunchBegun(input, actor.getSnapshot());
        });
      }),
      tell: sendTo(
        (_, { id }) => actorOf(id),
        (_, { event }) => event,
      ),
      // By its id where there is no such actor: XState then stops nothing.
      stop: stopChild((_, { id }) => {
        const actor = actors.get(id) ?? id;
        actors.delete(id);
        return actor;
      }),
    },
  });
  return {
    /** Not started yet. */
    ref: createActor(machine, inspect ? { inspect } : {}),
    actors: actors as ReadonlyMap<string, AnyActorRef>,
  };
};
