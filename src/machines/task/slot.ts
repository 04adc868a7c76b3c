// Which model a run works with, and whether it needs a slot. A model is left when its provider refuses it, not when a request
// fails (docs/decisions/160-when-a-model-is-left.md); the list of other models is a fact of the task, so that a replay chooses
// as the run did.

import { isSameModel, type ModelRef, type RefusedModel } from "../../task.ts";
import { statePath } from "../chart.ts";
import type { SlotRequest, TaskContext } from "./events.ts";

/** What is known of the models of a run. */
type Models = Pick<TaskContext, "facts" | "model" | "refusedModels">;

/** Returns the model that a run works with; undefined where nothing is known of it but that it is the agent's own. */
export const modelOf = ({ facts, model }: Pick<TaskContext, "facts" | "model">): ModelRef | undefined =>
  model ?? facts.model;

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

/** Whether a task is counted against the limits: its run waits to be, it is, or it is not. */
export type SlotState = "waiting" | "held" | "none";

/** The part of a snapshot that slots follow from. */
interface SlotHolder {
  value: { run: unknown; attention: unknown };
  context: TaskContext;
}

const isAwaitingUser = ({ value: { attention } }: SlotHolder): boolean => typeof attention === "object";

const isAwaitingTasks = ({ value: { run }, context: { blockedCalls = [] } }: SlotHolder): boolean =>
  statePath(run) === "working.awaitingTasks" || blockedCalls.length > 0;

/** True for a task whose run is for other servers. */
export const isInFleet = ({ value: { run } }: Pick<SlotHolder, "value">): boolean =>
  typeof run === "object" && run !== null && "fleet" in run;

/**
 * Returns whether a task waits for a slot, holds one, or needs none. This alone decides it: nothing else takes or frees one.
 * A run that waits for a person, or for tasks of its own, holds none. Otherwise parents could hold all slots while the tasks
 * that they wait for queue for one.
 */
export const slotOf = (task: SlotHolder): SlotState => {
  if (task.value.run === "idle") return "none";
  if (task.value.run === "queued") return "waiting";
  // It is counted there.
  if (isInFleet(task)) return "none";
  return isAwaitingUser(task) || isAwaitingTasks(task) ? "none" : "held";
};

/**
 * Returns when the host asks the provider again that refused the run's request, epoch milliseconds. That time is kept until
 * the provider has answered; undefined for other tasks.
 */
export const retriesAtOf = ({ context: { retry } }: SlotHolder): number | undefined => retry?.until;

/** Returns what a run of a task asks for: the newest one, if it is given the task's context. */
export const slotRequestOf = ({
  facts,
  run,
  model: changed,
}: Pick<TaskContext, "facts" | "model"> & { run: Pick<TaskContext["run"], "startedAt"> }): SlotRequest => {
  const model = modelOf({ facts, model: changed });
  return {
    taskId: facts.sessionID,
    agent: facts.agent,
    provider: model?.providerID,
    model: model && `${model.providerID}/${model.modelID}`,
    priority: facts.priority,
    since: run.startedAt,
    goesOn: goesOn({ model: changed }),
  };
};
