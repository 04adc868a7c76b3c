import type { OutboxEvent } from "../../../machines/outbox/events.ts";
import type { Effect } from "../../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../../machines/task/events.ts";
import { supervisionFailed } from "../../runtime/effects.ts";

type EffectsByType = { [E in Effect as E["type"]]: E };

/** The effect of that type; without a type, any effect. */
export type EffectOf<Type extends Effect["type"] = Effect["type"]> = {
  [T in Type]: EffectsByType[T] & { type: T };
}[Type];

/** The answer to an effect of that type goes to the chart that wanted it. */
type AnswerTo<Type extends Effect["type"]> = EffectOf<Type> extends { taskId: string } ? TaskEvent : OutboxEvent;

/** Everything that there is to know of one type of effect. */
export interface EffectHandler<Type extends Effect["type"]> {
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
