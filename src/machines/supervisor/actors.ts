import {
  type ActorRefFrom,
  type AnyActorRef,
  createActor,
  enqueueActions,
  type InspectionEvent,
  sendParent,
  sendTo,
  stopChild,
} from "xstate";
import type { OutboxContext, OutboxEffect, OutboxEvent } from "../outbox/events.ts";
import { type OutboxSnapshot, outboxMachine } from "../outbox/machine.ts";
import type { TaskContext, TaskEffect, TaskEvent } from "../task/events.ts";
import { type TaskSnapshot, taskMachine } from "../task/machine.ts";
import type { Effect, FailedActor, SupervisorEvent } from "./events.ts";
import { outboxId, supervisorMachine, type TaskActorInput } from "./machine.ts";

/** Receives what a supervisor and its actors do. */
export interface SupervisorObserver {
  /** An effect is for the services. */
  onEffect(effect: Effect): void;
  /** A task or an outbox took a step. A refused event is no step; nor is the stop of the actor, which is XState's own. */
  onTaskStep(snapshot: TaskSnapshot, event: TaskEvent): void;
  onOutboxStep(snapshot: OutboxSnapshot): void;
  /** An actor threw, and was removed. */
  onFailure(failed: FailedActor): void;
  /** Receives everything that XState observes of the supervisor and its actors. Absent: it makes no observations. */
  inspect?: ((observation: InspectionEvent) => void) | undefined;
}

/** Makes a machine report each step of its actors: XState's own observers are given snapshots without their events. */
const reportSteps = <Snapshot extends { status: string }, Event, Scope>(
  machine: { transition(before: Snapshot, event: Event, scope: Scope): Snapshot },
  onStep: (snapshot: Snapshot, event: Event) => void,
) => {
  const take = machine.transition.bind(machine);
  machine.transition = (before, event, scope) => {
    const after = take(before, event, scope);
    if (after !== before && after.status === "active") onStep(after, event);
    return after;
  };
};

/** Returns the chart of a task whose actors send their effects to the supervisor. */
const taskOf = (observer: SupervisorObserver) => {
  const machine = taskMachine.provide({
    actions: {
      emitEffect: sendParent<TaskContext, TaskEvent, TaskEffect, SupervisorEvent, TaskEvent>(({ event }, effect) => ({
        type: "EFFECT",
        at: event.at,
        effect,
      })),
    },
  });
  reportSteps(machine, observer.onTaskStep);
  return machine;
};

/** Returns the chart of an outbox whose actors send their effects to the supervisor. */
const outboxOf = (observer: SupervisorObserver) => {
  const machine = outboxMachine.provide({
    actions: {
      emitEffect: sendParent<OutboxContext, OutboxEvent, OutboxEffect, SupervisorEvent, OutboxEvent>(
        ({ event }, effect) => ({ type: "EFFECT", at: event.at, effect }),
      ),
    },
  });
  reportSteps(machine, observer.onOutboxStep);
  return machine;
};

/** A supervisor that was not started yet. */
export interface Supervisor {
  ref: ActorRefFrom<typeof supervisorMachine>;
  /** The actors that it has, by id: a task's id, or `outboxId` of a parent. */
  actors: ReadonlyMap<string, AnyActorRef>;
}

/**
 * Creates a supervisor that starts and stops actors, and sends them events. They are its children in all that XState does for
 * children: they share its system and its observer, send it their effects, and it learns when one throws. Only they are not
 * listed in its snapshot, where `spawnChild` puts children: XState copies that list for each spawn and each stop, and when the
 * supervisor ends once for each child, which took 6.7 s with 1,000 of them (measured). So they do not end with it, but are let
 * go: having no timers, promises or subscriptions, they act only on the supervisor's events.
 */
export const createSupervisor = (observer: SupervisorObserver): Supervisor => {
  const { inspect } = observer;
  const task = taskOf(observer);
  const outbox = outboxOf(observer);
  const actors = new Map<string, AnyActorRef>();

  const actorOf = (id: string): AnyActorRef => {
    const actor = actors.get(id);
    if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);
    return actor;
  };

  const machine = supervisorMachine.provide({
    actions: {
      perform: (_, effect) => observer.onEffect(effect),
      reportFailure: (_, failed) => observer.onFailure(failed),
      // As XState's own spawning does, these create the actor while the action is resolved, and start it as an action.
      startTask: enqueueActions(({ self, enqueue }, input: TaskActorInput) => {
        const { sessionID: id } = input.facts;
        const { value, context } = input;
        // A restored actor begins with its stored snapshot, which takes no step and has no effects.
        const restored = value && context ? { snapshot: task.resolveState({ value, context }) } : {};
        const actor = createActor(task, { parent: self, id, src: "task", input, ...restored });
        actors.set(id, actor);
        enqueue(() => void actor.start());
      }),
      startOutbox: enqueueActions(({ self, enqueue }, input: { parentSessionID: string }) => {
        const id = outboxId(input.parentSessionID);
        const actor = createActor(outbox, { parent: self, id, src: "outbox", input });
        actors.set(id, actor);
        enqueue(() => void actor.start());
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
  return { ref: createActor(machine, inspect ? { inspect } : {}), actors };
};
