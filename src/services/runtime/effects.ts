// What is between the charts and the engine: the effects that charts ask for, and what parts of an engine announce.
import type { HostEvent } from "../../machines/host-events.ts";
import type { LaunchEvent } from "../../machines/launch/events.ts";
import type { OutboxEvent } from "../../machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { Task } from "../../task.ts";
import type { EventBus } from "../platform/listeners.ts";

/** Carries out what the charts ask for. */
export interface Effects {
  /** Returns the answer to an effect, where it is known without the host. */
  know(effect: Effect): SupervisorEvent | undefined;
  /** Carries an effect out. What it returns, now or later, goes back to the charts. */
  perform(effect: Effect): SupervisorEvent | undefined | Promise<SupervisorEvent | undefined>;
  /** Returns the event that says that `perform` threw; undefined where no chart waits for an answer. */
  onFault(effect: Effect, at: number, reason: string): SupervisorEvent | undefined;
}

/** Returns the event that ends a task's run because of a fault of ours. */
export const supervisionFailed = (at: number, reason: string): TaskEvent => ({
  type: "SUPERVISION_FAILED",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});

/** What the parts of an engine announce to each other. `services/engine/reactions.ts` lists what follows from it. */
export interface EngineEvents {
  /** A task's chart took a step, which is stored; or the task was cleared. */
  taskChanged: Task;
  /** Another process has taken over these tasks, or removed them. Some have ended, and were still to be delivered. */
  tasksLost: Task[];
  /** A session was deleted, as the host said or as was found by asking it. */
  sessionDeleted: { sessionID: string };
  /** The host should have sent this event: what it says was found by asking. */
  missedHostEvent: HostEvent;
  /** The server that works on the task has reported what it did: progress has it. */
  usedElsewhere: { taskId: string };
  /** A run was taken over from another process: this is what the host has stored of it. */
  storedEventsRead: readonly HostEvent[];
}

export type EngineBus = EventBus<EngineEvents>;

type EffectsByType = { [E in Effect as E["type"]]: E };

/** The effect of that type; without a type, any effect. */
export type EffectOf<Type extends Effect["type"] = Effect["type"]> = {
  [T in Type]: EffectsByType[T] & { type: T };
}[Type];

/** The answer to an effect of that type goes to the chart that wanted it. */
type AnswerTo<Type extends Effect["type"]> =
  EffectOf<Type> extends { taskId: string }
    ? TaskEvent
    : EffectOf<Type> extends { launchId: string }
      ? LaunchEvent
      : OutboxEvent;

/** Everything that there is to know of one type of effect. */
interface EffectHandler<Type extends Effect["type"]> {
  /**
   * The answer, where it is known without the host: then the effect is not carried out. Asked before the step is stored,
   * together with which the answer's own step is stored.
   */
  know?(effect: EffectOf<Type>): AnswerTo<Type> | undefined;
  /** Carries the effect out. Returns the answer, now or later; undefined where nobody waits for one any more. */
  perform(effect: EffectOf<Type>): AnswerTo<Type> | undefined | Promise<AnswerTo<Type> | undefined>;
  /** Answers that say that the host failed: each gets a line in the log. Default: none. */
  failures?: readonly AnswerTo<Type>["type"][];
  /** Returns the answer that says that `perform` threw; absent where no chart waits for one. */
  onFault?(effect: EffectOf<Type>, at: number, reason: string): AnswerTo<Type>;
}

/** One handler for each type of effect: a new effect is one more entry, which the compiler demands. */
export type EffectHandlers<Types extends Effect["type"] = Effect["type"]> = {
  [Type in Types]: EffectHandler<Type>;
};

/** The `onFault` of an effect without whose answer the task would wait for ever. */
export const endRun = (_: unknown, at: number, reason: string): TaskEvent => supervisionFailed(at, reason);
