import type { OutboxEvent } from "../../../machines/outbox/events.ts";
import type { Effect } from "../../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../../machines/task/events.ts";
import type { Receipt } from "../../../receipt.ts";
import type { HostFailure, HostResult } from "../../host/host.ts";

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
}

/** The answer to an effect of that type goes to the chart that wanted it. */
type AnswerTo<Type extends Effect["type"]> = EffectOf<Type> extends { taskId: string } ? TaskEvent : OutboxEvent;

/** Everything that there is to know of one type of effect. */
export interface EffectHandler<Type extends Effect["type"]> {
  /**
   * The answer, where it is known without the host: then the effect is not carried out. Asked before the step is stored,
   * together with which the answer's own step is stored.
   */
  know?(effect: EffectOf<Type>, charts: Charts): AnswerTo<Type> | undefined;
  /** Carries the effect out. Returns the answer, now or later; undefined where nobody waits for one any more. */
  perform(effect: EffectOf<Type>, charts: Charts): AnswerTo<Type> | undefined | Promise<AnswerTo<Type> | undefined>;
  /** Answers that say that the host failed: each gets a line in the log. Default: none. */
  failures?: readonly AnswerTo<Type>["type"][];
  /** Returns the answer that says that `perform` threw; absent where no chart waits for one. */
  onFault?(effect: EffectOf<Type>, at: number, reason: string): AnswerTo<Type>;
}

/** One handler for each type of effect: a new effect is one more entry, which the compiler demands. */
export type EffectHandlers<Types extends Effect["type"] = Effect["type"]> = {
  [Type in Types]: EffectHandler<Type>;
};

/** Returns the event that ends a task's run because of a fault of ours. */
export const supervisionFailed = (at: number, reason: string): TaskEvent => ({
  type: "SUPERVISION_FAILED",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});

/** The `onFault` of an effect without whose answer the task would wait for ever. */
export const endRun = (_: unknown, at: number, reason: string): TaskEvent => supervisionFailed(at, reason);

/** The first of several calls to the host that failed: why. */
export const firstFailure = (results: HostResult<unknown>[]): HostFailure | undefined =>
  results.find((result) => !result.ok)?.failure;

/** A call that ends something has not failed where that thing does not exist. */
export const okIfNotFound = (result: HostResult<unknown>): HostResult<unknown> =>
  !result.ok && result.failure.kind === "notFound" ? { ok: true, value: undefined } : result;
