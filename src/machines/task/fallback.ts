// A model is left when its provider refuses it, not when a request fails (docs/decisions/160-when-a-model-is-left.md). The
// list of other models is a fact of the task, so that a replay chooses as the run did.
import { isSameModel, type ModelRef, type RefusedModel } from "../../task.ts";
import type { TaskContext } from "./events.ts";

/** What is known of the models of a run. */
type Models = Pick<TaskContext, "facts" | "ownModel" | "model" | "refusedModels">;

/** Returns the model that a run works with; undefined where nothing is known of it but that it is the agent's own. */
export const modelOf = ({
  facts,
  ownModel,
  model,
}: Pick<TaskContext, "facts" | "ownModel" | "model">): ModelRef | undefined => model ?? ownModel ?? facts.model;

/** True once a run has left the task's own model: it was at work before, though it may wait for a slot again. */
export const goesOn = ({ model }: Pick<TaskContext, "model">): boolean => model !== undefined;

/**
 * Returns the first model that has not refused the run: its present one, where another was asked, then those of the task's
 * fallback. Undefined where none is left, or the task has no fallback.
 */
export const nextModel = (models: Models): ModelRef | undefined => {
  const { facts, refusedModels = [] } = models;
  if (!facts.fallback) return undefined;
  const own = modelOf(models);
  return [...(own ? [own] : []), ...facts.fallback.models].find(
    (model) => !refusedModels.some((refused) => isSameModel(model, refused.model)),
  );
};

/**
 * Adds a model to those that refused the run: its present one, or another one that a person asked in the session. After a
 * crash a model may refuse the run once more. Where another one refuses it twice, so does the present one: the host may have
 * two names for it, and the run must not ask it for ever.
 */
export const refusedModelsWith = (models: Models, reason: string, refused = modelOf(models)): RefusedModel[] => {
  const own = modelOf(models);
  const known = models.refusedModels ?? [];
  const others = known.filter(({ model }) => !isSameModel(model, refused));
  const isTwice = others.length < known.length && !isSameModel(own, refused);
  const named = isTwice && own && !others.some(({ model }) => isSameModel(model, own)) ? [refused, own] : [refused];
  return [...others, ...named.map((model) => ({ ...(model ? { model } : {}), reason }))];
};

/** Returns the model with which the run goes on if that one refuses it now. */
export const nextModelWithout = (models: Models, refused?: ModelRef): ModelRef | undefined =>
  nextModel({ ...models, refusedModels: refusedModelsWith(models, "", refused) });

/** True when the provider makes the run wait longer than it is to, and there is another model. */
export const isRefusedTooLong = (context: TaskContext): boolean => {
  const { facts, retry } = context;
  if (!retry || !facts.fallback) return false;
  return retry.until - retry.since > facts.fallback.after && nextModelWithout(context) !== undefined;
};
