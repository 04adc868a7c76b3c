import { modelName } from "../../services/text/model-and-server.ts";
import { otherModelFor } from "../../services/text/retry-text.ts";
import { isSameModel, type Task } from "../../task.ts";

/** A provider as OpenCode's interface has it. */
export interface ListedProvider {
  id: string;
  name: string;
  models: Record<string, { id: string; name: string }>;
}

/** A model that a person may choose: `value` is its name as the API takes it, or `same`. */
export interface ModelChoice {
  title: string;
  value: string;
  category?: string;
}

/** The choice of the model that the task has. */
export const SAME_MODEL = "same";

/**
 * Returns the models with which a task that failed may be retried, its own first where that may do; undefined where a person is
 * not to be asked, since the model is not at fault.
 */
export const modelChoices = (
  task: Pick<Task, "error" | "nextRun" | "model">,
  providers: readonly ListedProvider[],
): ModelChoice[] | undefined => {
  const help = otherModelFor(task);
  if (help === undefined) return undefined;
  const { model } = task;
  const own = model ? `The same model, ${modelName(model)}` : "The same model, its agent's own";
  const others = providers.flatMap((provider) =>
    Object.values(provider.models)
      .filter(({ id }) => !isSameModel({ providerID: provider.id, modelID: id }, model))
      .map(({ id, name }) => ({ title: name, value: `${provider.id}/${id}`, category: provider.name })),
  );
  return help === "needed" ? others : [{ title: own, value: SAME_MODEL }, ...others];
};
