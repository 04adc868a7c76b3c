// ADR-129, ADR-130 in docs/decisions.md
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
import { outboxMachine } from "../outbox/machine.ts";
import type { TaskContext, TaskEffect, TaskEvent } from "../task/events.ts";
import { taskMachine } from "../task/machine.ts";
import type { Effect, SupervisorEvent } from "./events.ts";
import { outboxId, supervisorMachine, type TaskActorInput } from "./machine.ts";

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
  getInitialSnapshot: (scope: Parameters<typeof emittingTask.getInitialSnapshot>[0], input: TaskActorInput) =>
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

/** What a supervisor is made of. */
export interface SupervisorParts {
  task: typeof taskActor;
  outbox: typeof outboxActor;
  /** Receives the effects that are for the services. */
  perform(effect: Effect): void;
  /** Receives everything that XState observes of the supervisor and its actors. */
  inspect?: ((observation: InspectionEvent) => void) | undefined;
}

/** A supervisor that was not started yet. */
export interface Supervisor {
  ref: ActorRefFrom<typeof supervisorMachine>;
  /** The actors that it has, by id: a task's id, or `outboxId` of a parent. */
  actors: ReadonlyMap<string, AnyActorRef>;
}

/**
 * Creates a supervisor that starts, tells and stops actors. They are its children in all that XState does for children: they
 * share its system and its observer, send it their effects, and it learns when one throws. Only they are not listed in its
 * snapshot, where `spawnChild` puts children: XState copies that list for each spawn and each stop, and when the supervisor
 * ends once for each child, which took 6.7 s with 1,000 of them (measured). So they do not end with it, but are let go:
 * having no timers, promises or subscriptions, they act only when the supervisor tells them something.
 */
export const createSupervisor = ({ task, outbox, perform, inspect }: SupervisorParts): Supervisor => {
  const actors = new Map<string, AnyActorRef>();

  const actorOf = (id: string): AnyActorRef => {
    const actor = actors.get(id);
    if (!actor) throw new Error(`The supervisor has no actor ${id}: it must be started before events are sent to it.`);
    return actor;
  };

  const machine = supervisorMachine.provide({
    actions: {
      perform: (_, effect) => perform(effect),
      // As XState's own spawning does, these create the actor while the action is resolved, and start it as an action.
      startTask: enqueueActions(({ self, enqueue }, input: TaskActorInput) => {
        const { sessionID: id } = input.facts;
        const actor = createActor(task, { parent: self, id, src: "task", input });
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
