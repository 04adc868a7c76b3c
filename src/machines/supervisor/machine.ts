import { assertEvent, type DoneActorEvent, type ErrorActorEvent, setup } from "xstate";
import { type Phrased, phrasing, withEventDescriptions } from "../chart.ts";
import type { LaunchEvent, LaunchInput } from "../launch/events.ts";
import { leftLaunch, type StoredLaunchSnapshot } from "../launch/machine.ts";
import type { OutboxEvent } from "../outbox/events.ts";
import type { TaskEvent, TaskInput } from "../task/events.ts";
import type { StoredSnapshot } from "../task/machine.ts";
import {
  type Effect,
  type FailedActor,
  type SupervisorEvent,
  supervisorEventDescriptions,
  toOutboxEvent,
  toTaskEvent,
} from "./events.ts";

/**
 * A set of ids as a sorted list: plain JSON, found by halving. Each change returns a new list and leaves the old one as it
 * is, as a chart's context must. Copying a list of 1,000 takes a microsecond; a record of 1,000 keys takes 500 (measured).
 */
export type SortedIds = readonly string[];

/** Returns where the id stands, or where it would have to. */
const positionOf = (ids: SortedIds, id: string): number => {
  let [from, to] = [0, ids.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ids[middle] ?? "") < id) from = middle + 1;
    else to = middle;
  }
  return from;
};

export const hasId = (ids: SortedIds, id: string): boolean => ids[positionOf(ids, id)] === id;

/** Adds an id. Returns the very same list when it has it. */
export const withId = (ids: SortedIds, id: string): SortedIds =>
  hasId(ids, id) ? ids : ids.toSpliced(positionOf(ids, id), 0, id);

/** Removes an id. Returns the very same list when it does not have it. */
export const withoutId = (ids: SortedIds, id: string): SortedIds =>
  hasId(ids, id) ? ids.toSpliced(positionOf(ids, id), 1) : ids;

/** The actors that the supervisor has. */
interface SupervisorContext {
  /** The ids of live tasks. */
  tasks: SortedIds;
  /** The parent sessions that have an outbox. */
  outboxes: SortedIds;
  /** The launches that have not led to a task, or left something. */
  launches: SortedIds;
}

const OUTBOX = "outbox:";
const LAUNCH = "launch:";

/** Returns the id of a parent's outbox among the supervisor's actors. */
export const outboxId = (parentSessionID: string): string => OUTBOX + parentSessionID;

/** Returns the parent session of an outbox, by the outbox's id; undefined when the id is a task's. */
export const parentOfOutbox = (actorId: string): string | undefined =>
  actorId.startsWith(OUTBOX) ? actorId.slice(OUTBOX.length) : undefined;

/** Returns the id of a launch among the supervisor's actors. */
export const launchActorId = (launchId: string): string => LAUNCH + launchId;

/** Returns the launch of an actor, by the actor's id; undefined when it is no launch's. */
export const launchOfActor = (actorId: string): string | undefined =>
  actorId.startsWith(LAUNCH) ? actorId.slice(LAUNCH.length) : undefined;

/** A launch's actor begins with a call, with what another one has left, or where it stood. */
export type LaunchActorInput = LaunchInput & Partial<StoredLaunchSnapshot>;

/** A task's actor begins with a launch, or from a stored snapshot. */
export type TaskActorInput = TaskInput & Partial<StoredSnapshot>;

const when = phrasing<SupervisorContext, SupervisorEvent | DoneActorEvent | ErrorActorEvent>();

const supervisorSetup = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent | ErrorActorEvent | DoneActorEvent,
  },
  // They do nothing here: `createSupervisor` provides what really happens.
  actions: {
    /** Has a service perform the effect. */
    perform: (_, _effect: Effect) => undefined,
    /** Lets the services know of an actor that threw. */
    reportFailure: (_, _failed: FailedActor) => undefined,
    startTask: (_, _input: TaskActorInput) => undefined,
    startOutbox: (_, _input: { parentSessionID: string }) => undefined,
    startLaunch: (_, _input: LaunchActorInput) => undefined,
    /** Passes an event to an actor. */
    tell: (_, _message: { id: string; event: TaskEvent | OutboxEvent | LaunchEvent }) => undefined,
    /** Stops an actor, once it has taken the events that were sent to it before. */
    stop: (_, _actor: { id: string }) => undefined,
  },
  guards: {
    notLive: when("the task has no actor yet", ({ context, event }) => {
      assertEvent(event, ["LAUNCH", "RESTORE"]);
      const { facts } = event.type === "LAUNCH" ? event.task : event.snapshot.context;
      return !hasId(context.tasks, facts.sessionID);
    }),
  } satisfies Record<string, Phrased>,
});

type Enqueue = Parameters<Parameters<typeof supervisorSetup.enqueueActions>[0]>[0]["enqueue"];

const tell = (enqueue: Enqueue, id: string, event: TaskEvent | OutboxEvent | LaunchEvent) =>
  enqueue({ type: "tell", params: { id, event } });

/** Starts the parent's outbox, unless there is one. */
const openOutbox = (parentSessionID: string, { outboxes }: SupervisorContext, enqueue: Enqueue) => {
  if (hasId(outboxes, parentSessionID)) return;
  enqueue({ type: "startOutbox", params: { parentSessionID } });
  enqueue.assign({ outboxes: withId(outboxes, parentSessionID) });
};

const spawnTask = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, ["LAUNCH", "RESTORE"]);
  const input = event.type === "LAUNCH" ? event.task : event.snapshot.context;
  const { sessionID, parentSessionID } = input.facts;
  openOutbox(parentSessionID, context, enqueue);
  if (event.type === "LAUNCH") {
    tell(enqueue, outboxId(parentSessionID), { type: "PARENT_PRESENT", at: event.at });
  }
  const stored = event.type === "RESTORE" ? event.snapshot : {};
  enqueue({ type: "startTask", params: { ...input, ...stored } });
  enqueue.assign({ tasks: withId(context.tasks, sessionID) });
});

/** Starts the actor of a launch, unless there is one. */
const openLaunch = (launch: LaunchActorInput, { launches }: SupervisorContext, enqueue: Enqueue) => {
  if (hasId(launches, launch.id)) return;
  enqueue({ type: "startLaunch", params: launch });
  enqueue.assign({ launches: withId(launches, launch.id) });
};

const prepare = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "PREPARE");
  openLaunch({ ...event.launch, ...event.snapshot }, context, enqueue);
});

const adoptPrompts = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "ADOPT_PROMPTS");
  const { parentSessionID, at, prompts } = event;
  openOutbox(parentSessionID, context, enqueue);
  tell(enqueue, outboxId(parentSessionID), { type: "ADOPTED", at, prompts });
});

const forwardToTask = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "TASK");
  if (hasId(context.tasks, event.id)) tell(enqueue, event.id, event.event);
});

const forwardToOutbox = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "OUTBOX");
  if (hasId(context.outboxes, event.id)) tell(enqueue, outboxId(event.id), event.event);
});

const forwardToLaunch = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "PREPARATION");
  if (hasId(context.launches, event.id)) tell(enqueue, launchActorId(event.id), event.event);
});

/** One session can be a task's child session and the parent of other tasks: then both get the event. */
const routeHostEvent = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "HOST");
  const { sessionID } = event.event;
  const forTask = hasId(context.tasks, sessionID) && toTaskEvent(event.event, event.at);
  const forOutbox = hasId(context.outboxes, sessionID) && toOutboxEvent(event.event, event.at);
  if (forTask) tell(enqueue, sessionID, forTask);
  if (forOutbox) tell(enqueue, outboxId(sessionID), forOutbox);
});

/** Routes the effects that actors have on each other; the others go to the services. */
const routeEffect = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, "EFFECT");
  const { at, effect } = event;
  const toTasks = (runs: { taskId: string }[], type: "NOTICE_COMPOSED" | "NOTICE_ACKNOWLEDGED" | "NOTICE_DROPPED") => {
    for (const { taskId } of runs) if (hasId(context.tasks, taskId)) tell(enqueue, taskId, { type, at });
  };
  switch (effect.type) {
    case "reportEnd": {
      const { parentTaskId, taskId } = effect;
      if (hasId(context.tasks, parentTaskId)) tell(enqueue, parentTaskId, { type: "OWN_TASK_ENDED", at, taskId });
      break;
    }
    case "queueNotice":
      openOutbox(effect.end.parentSessionID, context, enqueue);
      tell(enqueue, outboxId(effect.end.parentSessionID), { type: "NOTICE_DUE", at, end: effect.end });
      break;
    case "withdrawNotice": {
      const { parentSessionID, taskId, run } = effect;
      if (!hasId(context.outboxes, parentSessionID)) break;
      tell(enqueue, outboxId(parentSessionID), { type: "WITHDRAW", at, taskId, run });
      break;
    }
    case "noticeComposed":
      toTasks(effect.runs, "NOTICE_COMPOSED");
      break;
    case "noticeAcknowledged":
      toTasks(effect.runs, "NOTICE_ACKNOWLEDGED");
      break;
    case "noticeDropped":
      toTasks(effect.runs, "NOTICE_DROPPED");
      break;
    case "leaveCopy":
      openLaunch(leftLaunch(effect.left), context, enqueue);
      break;
    default:
      enqueue({ type: "perform", params: effect });
  }
});

const reapTask = supervisorSetup.enqueueActions(({ context: { tasks }, event, enqueue }) => {
  assertEvent(event, "REAP_TASK");
  if (!hasId(tasks, event.id)) return;
  enqueue({ type: "stop", params: { id: event.id } });
  enqueue.assign({ tasks: withoutId(tasks, event.id) });
});

const reapOutbox = supervisorSetup.enqueueActions(({ context: { outboxes }, event, enqueue }) => {
  assertEvent(event, "REAP_OUTBOX");
  if (!hasId(outboxes, event.id)) return;
  enqueue({ type: "stop", params: { id: outboxId(event.id) } });
  enqueue.assign({ outboxes: withoutId(outboxes, event.id) });
});

/** Removes an actor that threw, so that it does not take its siblings down; the runtime reports its end. */
const removeFailed = supervisorSetup.enqueueActions(({ context: { tasks, outboxes, launches }, event, enqueue }) => {
  if (!("actorId" in event && "error" in event)) return;
  const id = event.actorId;
  enqueue({ type: "stop", params: { id } });
  const parentSessionID = parentOfOutbox(id);
  const launchId = launchOfActor(id);
  if (parentSessionID !== undefined) enqueue.assign({ outboxes: withoutId(outboxes, parentSessionID) });
  else if (launchId !== undefined) enqueue.assign({ launches: withoutId(launches, launchId) });
  else enqueue.assign({ tasks: withoutId(tasks, id) });
  enqueue({ type: "reportFailure", params: { id, message: String(event.error) } });
});

/** Removes the actor of a launch that is over. */
const removeEnded = supervisorSetup.enqueueActions(({ context: { launches }, event, enqueue }) => {
  if (!("actorId" in event)) return;
  const { actorId: id } = event;
  enqueue({ type: "stop", params: { id } });
  enqueue.assign({ launches: withoutId(launches, launchOfActor(id) ?? id) });
});

/** Spawns and reaps the actors of launches, tasks and outboxes, routes events to them, and hands their effects to the services. */
export const supervisorMachine = supervisorSetup.createMachine(
  withEventDescriptions(supervisorEventDescriptions, {
    id: "supervisor",
    description:
      "Spawns and reaps the actors of launches, tasks and outboxes, and routes events and effects between them and the services.",
    context: { tasks: [], outboxes: [], launches: [] },
    initial: "open",
    states: {
      open: {
        description: "Tasks are launched and supervised.",
        on: {
          PREPARE: { actions: prepare },
          LAUNCH: { guard: "notLive", actions: spawnTask },
          RESTORE: { guard: "notLive", actions: spawnTask },
          ADOPT_PROMPTS: { actions: adoptPrompts },
          TASK: { actions: forwardToTask },
          OUTBOX: { actions: forwardToOutbox },
          PREPARATION: { actions: forwardToLaunch },
          HOST: { actions: routeHostEvent },
          EFFECT: { actions: routeEffect },
          REAP_TASK: { actions: reapTask },
          REAP_OUTBOX: { actions: reapOutbox },
          "xstate.done.actor.*": { actions: removeEnded },
          "xstate.error.actor.*": { actions: removeFailed },
          CLOSE: { target: "closed" },
        },
      },
      closed: {
        description: "The plugin was disposed of. Nothing is supervised any longer.",
        type: "final",
      },
    },
  }),
);
