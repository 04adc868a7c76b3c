import { type ErrorActorEvent, sendParent, setup } from "xstate";
import { withEventDescriptions } from "../event-descriptions.ts";
import type { OutboxContext, OutboxEffect, OutboxEvent } from "../outbox/events.ts";
import { outboxMachine } from "../outbox/machine.ts";
import type { TaskContext, TaskEffect, TaskEvent, TaskInput } from "../task/events.ts";
import { type StoredSnapshot, taskMachine } from "../task/machine.ts";
import {
  type Effect,
  type SupervisorContext,
  type SupervisorEvent,
  supervisorEventDescriptions,
  toOutboxEvent,
  toTaskEvent,
} from "./events.ts";

const OUTBOX = "outbox:";

/** Returns the id of a parent's outbox among the supervisor's actors. */
export const outboxId = (parentSessionID: string): string => OUTBOX + parentSessionID;

const emittingTask = taskMachine.provide({
  actions: {
    emitEffect: sendParent<TaskContext, TaskEvent, TaskEffect, SupervisorEvent, TaskEvent>(({ event }, effect) => ({
      type: "EFFECT",
      at: event.at,
      effect,
    })),
  },
});

/**
 * A task as the supervisor's child: its effects reach the supervisor as events. It begins with a launch, or from a stored
 * snapshot, which takes no step and has no effects.
 */
export const taskActor: typeof emittingTask = Object.assign(Object.create(emittingTask) as typeof emittingTask, {
  getInitialSnapshot: (
    scope: Parameters<typeof emittingTask.getInitialSnapshot>[0],
    input: TaskInput & Partial<StoredSnapshot>,
  ) =>
    input.value && input.context
      ? emittingTask.resolveState({ value: input.value, context: input.context })
      : emittingTask.getInitialSnapshot(scope, input),
});

/** An outbox as the supervisor's child. */
export const outboxActor = outboxMachine.provide({
  actions: {
    emitEffect: sendParent<OutboxContext, OutboxEvent, OutboxEffect, SupervisorEvent, OutboxEvent>(
      ({ event }, effect) => ({ type: "EFFECT", at: event.at, effect }),
    ),
  },
});

const supervisorSetup = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent | ErrorActorEvent,
    children: {} as { [id: string]: "task" | "outbox" },
  },
  actors: { task: taskActor, outbox: outboxActor },
  actions: {
    /** Has a service perform the effect. It does nothing here: the runtime provides what really happens. */
    perform: (_, _effect: Effect) => undefined,
  },
  guards: {
    notLive: ({ context, event }) =>
      (event.type === "LAUNCH" && !(event.task.facts.sessionID in context.tasks)) ||
      (event.type === "RESTORE" && !(event.snapshot.context.facts.sessionID in context.tasks)),
  },
});

type Enqueue = Parameters<Parameters<typeof supervisorSetup.enqueueActions>[0]>[0]["enqueue"];

/** Spawns the parent's outbox, unless there is one. */
const openOutbox = (parentSessionID: string, { outboxes }: SupervisorContext, enqueue: Enqueue) => {
  if (parentSessionID in outboxes) return;
  enqueue.spawnChild("outbox", { id: outboxId(parentSessionID), input: { parentSessionID } });
  enqueue.assign({ outboxes: { ...outboxes, [parentSessionID]: true } });
};

const spawnTask = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "LAUNCH" && event.type !== "RESTORE") return;
  const input = event.type === "LAUNCH" ? event.task : event.snapshot.context;
  const { sessionID, parentSessionID } = input.facts;
  openOutbox(parentSessionID, context, enqueue);
  if (event.type === "LAUNCH") {
    enqueue.sendTo(outboxId(parentSessionID), { type: "PARENT_PRESENT", at: event.at });
  }
  const stored = event.type === "RESTORE" ? event.snapshot : {};
  enqueue.spawnChild("task", { id: sessionID, input: { ...input, ...stored } });
  enqueue.assign({ tasks: { ...context.tasks, [sessionID]: parentSessionID } });
  if (event.type === "LAUNCH") enqueue.sendTo(sessionID, { type: "SLOT_GRANTED", at: event.at });
});

/** The events after which a run may be queued: it is granted a slot at once. */
const TAKES_SLOT: ReadonlySet<TaskEvent["type"]> = new Set(["RESUME", "ADOPTED"]);

const adoptPrompts = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "ADOPT_PROMPTS") return;
  const { parentSessionID, at, prompts } = event;
  openOutbox(parentSessionID, context, enqueue);
  enqueue.sendTo(outboxId(parentSessionID), { type: "ADOPTED", at, prompts });
});

const forward = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type === "TASK" && event.id in context.tasks) {
    enqueue.sendTo(event.id, event.event);
    if (TAKES_SLOT.has(event.event.type)) enqueue.sendTo(event.id, { type: "SLOT_GRANTED", at: event.event.at });
  }
  if (event.type === "OUTBOX" && event.id in context.outboxes) enqueue.sendTo(outboxId(event.id), event.event);
});

/** One session can be a task's child session and the parent of other tasks: then both get the event. */
const routeHostEvent = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "HOST") return;
  const { sessionID } = event.event;
  const forTask = sessionID in context.tasks && toTaskEvent(event.event, event.at);
  const forOutbox = sessionID in context.outboxes && toOutboxEvent(event.event, event.at);
  if (forTask) enqueue.sendTo(sessionID, forTask);
  if (forOutbox) enqueue.sendTo(outboxId(sessionID), forOutbox);
});

/** Routes the effects that tasks and outboxes have on each other; the others go to the services. */
const routeEffect = supervisorSetup.enqueueActions(({ context, event, enqueue }) => {
  if (event.type !== "EFFECT") return;
  const { at, effect } = event;
  const toTasks = (runs: { taskId: string }[], type: "NOTICE_COMPOSED" | "NOTICE_ACKNOWLEDGED" | "NOTICE_DROPPED") => {
    for (const { taskId } of runs) if (taskId in context.tasks) enqueue.sendTo(taskId, { type, at });
  };
  switch (effect.type) {
    case "queueNotice":
      openOutbox(effect.end.parentSessionID, context, enqueue);
      enqueue.sendTo(outboxId(effect.end.parentSessionID), { type: "NOTICE_DUE", at, end: effect.end });
      break;
    case "withdrawNotice":
      if (!(effect.parentSessionID in context.outboxes)) break;
      enqueue.sendTo(outboxId(effect.parentSessionID), {
        type: "WITHDRAW",
        at,
        taskId: effect.taskId,
        run: effect.run,
      });
      break;
    case "noticeComposed":
      toTasks(effect.runs, "NOTICE_COMPOSED");
      break;
    case "noticeAcknowledged":
      toTasks(effect.runs, "NOTICE_ACKNOWLEDGED");
      break;
    case "noticeDropped":
      toTasks(effect.runs, "NOTICE_DROPPED");
      break;
    default:
      enqueue({ type: "perform", params: effect });
  }
});

const reapTask = supervisorSetup.enqueueActions(({ context: { tasks }, event, enqueue }) => {
  if (event.type !== "REAP_TASK" || !(event.id in tasks)) return;
  const { [event.id]: _, ...rest } = tasks;
  enqueue.stopChild(event.id);
  enqueue.assign({ tasks: rest });
});

const reapOutbox = supervisorSetup.enqueueActions(({ context: { outboxes }, event, enqueue }) => {
  if (event.type !== "REAP_OUTBOX" || !(event.id in outboxes)) return;
  const { [event.id]: _, ...rest } = outboxes;
  enqueue.stopChild(outboxId(event.id));
  enqueue.assign({ outboxes: rest });
});

/** Removes an actor that threw, so that it does not take its siblings down; the runtime reports its end. */
const removeFailed = supervisorSetup.enqueueActions(({ context: { tasks, outboxes }, event, enqueue }) => {
  if (event.type !== "xstate.error.actor.*" && !("actorId" in event)) return;
  const id = event.actorId;
  const { [id]: _, ...otherTasks } = tasks;
  const { [id.slice(OUTBOX.length)]: __, ...otherOutboxes } = outboxes;
  enqueue.stopChild(id);
  enqueue.assign(id.startsWith(OUTBOX) ? { outboxes: otherOutboxes } : { tasks: otherTasks });
  enqueue({ type: "perform", params: { type: "actorFailed", id, message: String(event.error) } });
});

/** Spawns and reaps the actors of tasks and outboxes, routes events to them, and hands their effects to the services. */
export const supervisorMachine = supervisorSetup.createMachine(
  withEventDescriptions(supervisorEventDescriptions, {
    id: "supervisor",
    description:
      "Spawns and reaps the actors of tasks and outboxes, and routes events and effects between them and the services.",
    context: { tasks: {}, outboxes: {} },
    initial: "open",
    states: {
      open: {
        description: "Tasks are launched and supervised.",
        on: {
          LAUNCH: { guard: "notLive", actions: spawnTask },
          RESTORE: { guard: "notLive", actions: spawnTask },
          ADOPT_PROMPTS: { actions: adoptPrompts },
          TASK: { actions: forward },
          OUTBOX: { actions: forward },
          HOST: { actions: routeHostEvent },
          EFFECT: { actions: routeEffect },
          REAP_TASK: { actions: reapTask },
          REAP_OUTBOX: { actions: reapOutbox },
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
