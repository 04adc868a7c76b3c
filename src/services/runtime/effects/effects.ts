// ADR-123 in docs/decisions.md
import type { Effect, SupervisorEvent } from "../../../machines/supervisor/events.ts";
import type { Charts, EffectAnswer, EffectHandlers, EffectOf } from "./effect-handler.ts";
import { createFleetEffects, type FleetEffectDeps } from "./fleet-effects.ts";
import { createGateEffects, type GateEffectDeps } from "./gate-effects.ts";
import { createOutboxEffects, type OutboxEffectDeps } from "./outbox-effects.ts";
import { createReceiptEffects, type ReceiptEffectDeps } from "./receipt-effects.ts";
import { createTaskEffects, type TaskEffectDeps } from "./task-effects.ts";

/** What effects are carried out with. */
export type EffectDeps = TaskEffectDeps & ReceiptEffectDeps & GateEffectDeps & FleetEffectDeps & OutboxEffectDeps;

/** Carries out what the charts ask for. */
export interface Effects {
  /** The task that wants it done; undefined where an outbox or the supervisor does. */
  taskIdOf(effect: Effect): string | undefined;
  /** The answer to an effect, where it is known without the host. */
  know(effect: Effect, charts: Charts): SupervisorEvent | undefined;
  /** Carries an effect out. What it returns, now or later, goes back to the charts. */
  perform(effect: Effect, charts: Charts): EffectAnswer;
  /** The event that says that `perform` threw; undefined where no chart waits for an answer. */
  onFault(effect: Effect, at: number, reason: string): SupervisorEvent | undefined;
}

/** Creates the table of all effects. */
export const createEffects = (deps: EffectDeps): Effects => {
  const handlers: EffectHandlers = {
    ...createTaskEffects(deps),
    ...createReceiptEffects(deps),
    ...createGateEffects(deps),
    ...createFleetEffects(deps),
    ...createOutboxEffects(deps),
    actorFailed: {
      perform: ({ id, message }, charts) => void charts.restartActor(id, message),
      onFault: () => undefined,
    },
  };
  return {
    taskIdOf: <Type extends Effect["type"]>(effect: EffectOf<Type>) => handlers[effect.type].taskId?.(effect),
    know: <Type extends Effect["type"]>(effect: EffectOf<Type>, charts: Charts) =>
      handlers[effect.type].know?.(effect, charts),
    perform: <Type extends Effect["type"]>(effect: EffectOf<Type>, charts: Charts) =>
      handlers[effect.type].perform(effect, charts),
    onFault: <Type extends Effect["type"]>(effect: EffectOf<Type>, at: number, reason: string) =>
      handlers[effect.type].onFault(effect, at, reason),
  };
};
