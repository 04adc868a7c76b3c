import type { OutboxEvent } from "../../../machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../../machines/task/events.ts";
import type { Receipt } from "../../../receipt.ts";
import type { HostFailure, HostResult } from "../../host/host.ts";
import type { Log } from "../../platform/log.ts";

type EffectsByType = { [E in Effect as E["type"]]: E };

/** The effect of that type; without a type, any effect. */
export type EffectOf<Type extends Effect["type"] = Effect["type"]> = {
  [T in Type]: EffectsByType[T] & { type: T };
}[Type];

/** What carrying out an effect may need of the charts. */
export interface Charts {
  /** True while the task lives in this process: it is not at rest, and no other process has taken it over. */
  isStillOurs(taskId: string): boolean;
  /** The same, but asks the store first: another process may have taken the task over, or removed it, a moment ago. */
  confirmOurs(taskId: string): boolean;
  /** True for a task that lives in another process, or was removed there: what is at work in its session here, works twice. */
  isLost(taskId: string): boolean;
  /** True while tasks that this session launched, or a session below it, run, or their results are not delivered. */
  awaitsTasks(sessionID: string): boolean;
  /** True while runs of such tasks are under way. */
  awaitsRuns(sessionID: string): boolean;
  /** True while runs of this parent's tasks are under way. */
  hasRunningTasks(parentSessionID: string): boolean;
  /** The run whose prompt the task is sending, by the id of its first message. */
  runBeingSent(taskId: string): string | undefined;
  /** The instruction that the task is sending, by its message's id. */
  instructionBeingSent(taskId: string): string | undefined;
  /** The receipt of the newest run of a live task, once it is written. */
  receiptOf(taskId: string): Receipt | undefined;
  /** Replaces the actor of a task or an outbox that threw. */
  restartActor(actorId: string, reason: string): void;
}

/** What carrying out an effect leads to: an event for the charts, now or later; or nothing. */
export type EffectAnswer = SupervisorEvent | Promise<SupervisorEvent | undefined> | undefined;

/** Everything that there is to know of one type of effect. */
export interface EffectHandler<Type extends Effect["type"]> {
  /** The task that wants it done; absent where an outbox or the supervisor does. */
  taskId?(effect: EffectOf<Type>): string;
  /**
   * The answer, where it is known without the host: then the effect is not carried out. Asked before the step is stored,
   * together with which the answer's own step is stored.
   */
  know?(effect: EffectOf<Type>, charts: Charts): SupervisorEvent | undefined;
  /** Carries the effect out. */
  perform(effect: EffectOf<Type>, charts: Charts): EffectAnswer;
  /** The event that says that `perform` threw; undefined where no chart waits for an answer. */
  onFault(effect: EffectOf<Type>, at: number, reason: string): SupervisorEvent | undefined;
}

/** One handler for each type of effect: a new effect is one more entry, which the compiler demands. */
export type EffectHandlers<Types extends Effect["type"] = Effect["type"]> = { [Type in Types]: EffectHandler<Type> };

/** Tells a task that a fault of ours ends its run. */
export const supervisionFailed = (at: number, reason: string): TaskEvent => ({
  type: "SUPERVISION_FAILED",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});

/** Logs an answer that says that the host failed. */
const logFailure = (log: Log, failures: readonly string[], event: TaskEvent | OutboxEvent) => {
  if (failures.includes(event.type)) log.error(`the host failed: ${event.type}`, { ...event });
};

/** Makes the handler of a task's effect, which the host is called for. */
export const taskEffect = <Type extends Effect["type"]>(
  log: Log,
  handler: {
    taskId(effect: EffectOf<Type>): string;
    know?(effect: EffectOf<Type>, charts: Charts): TaskEvent | undefined;
    /** Undefined where nobody waits for the answer any more. */
    perform(effect: EffectOf<Type>, charts: Charts): Promise<TaskEvent | undefined>;
    /** Answers that say that the host failed: each gets a line in the log. */
    failures: readonly TaskEvent["type"][];
  },
): EffectHandler<Type> => ({
  taskId: handler.taskId,
  know: (effect, charts) => {
    const event = handler.know?.(effect, charts);
    return event && { type: "TASK", id: handler.taskId(effect), event };
  },
  perform: async (effect, charts) => {
    const event = await handler.perform(effect, charts);
    if (!event) return undefined;
    logFailure(log, handler.failures, event);
    return { type: "TASK", id: handler.taskId(effect), event };
  },
  onFault: (effect, at, reason) => ({ type: "TASK", id: handler.taskId(effect), event: supervisionFailed(at, reason) }),
});

/** The types of effects that belong to the outbox of a parent. */
type OutboxEffectType = Extract<Effect, { parentSessionID: string }>["type"];

/** Makes the handler of an outbox's effect, which the host is called for. */
export const outboxEffect = <Type extends OutboxEffectType>(
  log: Log,
  handler: {
    perform(effect: EffectOf<Type>, charts: Charts): Promise<OutboxEvent>;
    /** Answers that say that the host failed: each gets a line in the log. */
    failures: readonly OutboxEvent["type"][];
    onFault(effect: EffectOf<Type>, at: number, message: string): OutboxEvent;
  },
): EffectHandler<Type> => ({
  perform: async (effect, charts) => {
    const event = await handler.perform(effect, charts);
    logFailure(log, handler.failures, event);
    return { type: "OUTBOX", id: effect.parentSessionID, event };
  },
  onFault: (effect, at, message) => ({
    type: "OUTBOX",
    id: effect.parentSessionID,
    event: handler.onFault(effect, at, message),
  }),
});

/** The first of several calls to the host that failed: why. */
export const firstFailure = (results: HostResult<unknown>[]): HostFailure | undefined =>
  results.find((result) => !result.ok)?.failure;

/** A call that ends something has not failed where that thing does not exist. */
export const okIfNotFound = (result: HostResult<unknown>): HostResult<unknown> =>
  !result.ok && result.failure.kind === "notFound" ? { ok: true, value: undefined } : result;
