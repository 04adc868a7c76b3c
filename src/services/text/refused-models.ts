import { isSameModel, type ModelRef, type RefusedModel } from "../../task.ts";
import { modelName } from "./model-name.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

/** Characters of a provider's reason that are quoted. */
const REASON_CHARS = 200;

/** Writes which model a run went on with, and why, or that all refused it; undefined where it went on with none. */
export const wentOn = ({
  model,
  refusedModels,
}: {
  model?: ModelRef | undefined;
  refusedModels?: readonly RefusedModel[] | undefined;
}): OwnText | undefined => {
  if (!refusedModels) return undefined;
  const refusals = refusedModels.map((refused) => {
    const name = refused.model ? nameOf(modelName(refused.model)) : own`the agent's own model`;
    return own`${name}: ${quoteLine(refused.reason, REASON_CHARS)}`;
  });
  if (isSameModel(refusedModels.at(-1)?.model, model)) return own`was refused by every model: ${join(refusals, ", ")}`;
  return own`went on with ${model ? nameOf(modelName(model)) : own`another model`} after ${join(refusals, ", ")}`;
};
