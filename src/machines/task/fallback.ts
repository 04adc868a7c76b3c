// ADR-160, ADR-161 in docs/decisions.md
import { isSameModel, type ModelRef, type RefusedModel } from "../../task.ts";
import type { TaskContext } from "./events.ts";

/** What is known of the models of a run. */
type Models = Pick<TaskContext, "facts" | "model" | "refusedModels">;

/** Returns the model that a run works with; undefined where nothing is known of it but that it is the agent's own. */
export const modelOf = ({ facts, model }: Pick<TaskContext, "facts" | "model">): ModelRef | undefined =>
  model ?? facts.model;

/** True once a run has left the task's own model: it was at work before, though it may wait for a slot again. */
export const goesOn = ({ model }: Pick<TaskContext, "model">): boolean => model !== undefined;

/** Returns the first model of the task's fallback that this run has not been refused by; undefined where none is left. */
export const nextModel = (models: Models): ModelRef | undefined => {
  const tried = [modelOf(models), ...(models.refusedModels ?? []).map(({ model }) => model)];
  return models.facts.fallback?.models.find((model) => !tried.some((other) => isSameModel(model, other)));
};

/** Adds the model that the run works with to those that refused it. After a crash it may refuse the run once more. */
export const refusedModelsWith = (models: Models, reason: string): RefusedModel[] => {
  const model = modelOf(models);
  const others = (models.refusedModels ?? []).filter((refused) => !isSameModel(refused.model, model));
  return [...others, { ...(model ? { model } : {}), reason }];
};

/** True when the provider makes the run wait longer than it is to, and there is another model. */
export const isRefusedTooLong = (context: TaskContext): boolean => {
  const { facts, retry } = context;
  if (!retry || !facts.fallback) return false;
  return retry.until - retry.since > facts.fallback.after && nextModel(context) !== undefined;
};
