import { statePath } from "../chart.ts";
import type { SlotRequest, TaskContext } from "./events.ts";
import { goesOn, modelOf } from "./fallback.ts";

/** Whether a task is counted against the limits: its run waits to be, it is, or it is not. */
export type SlotState = "waiting" | "held" | "none";

/** The part of a snapshot that slots follow from. */
interface SlotHolder {
  value: { run: unknown; attention: unknown };
  context: TaskContext;
}

const isAwaitingUser = ({ value: { attention } }: SlotHolder): boolean => typeof attention === "object";

const isAwaitingTasks = ({ value: { run }, context: { blockedCalls = [] } }: SlotHolder): boolean =>
  statePath(run) === "active.working.awaitingTasks" || blockedCalls.length > 0;

/** True for a task whose run is paused, and has stopped for that. */
export const isStoppedForPause = ({ value: { run } }: { value: { run: unknown } }): boolean =>
  statePath(run) === "pausing.paused";

/** True for a task whose run is for other servers. */
export const isInFleet = ({ value: { run } }: Pick<SlotHolder, "value">): boolean =>
  typeof run === "object" && run !== null && "fleet" in run;

/**
 * Returns whether a task waits for a slot, holds one, or needs none. This alone decides it: nothing else takes or frees one.
 * A run that waits for a person, or for tasks of its own, holds none. Otherwise parents could hold all slots while the tasks
 * that they wait for queue for one.
 */
export const slotOf = (task: SlotHolder): SlotState => {
  if (task.value.run === "idle" || isStoppedForPause(task)) return "none";
  if (task.value.run === "queued") return "waiting";
  // It is counted there.
  if (isInFleet(task)) return "none";
  return isAwaitingUser(task) || isAwaitingTasks(task) ? "none" : "held";
};

/**
 * Returns when the provider is asked again that refused the run's request, epoch milliseconds: by the host, or because the run waits
 * for that. That time is kept until the provider has answered; undefined for other tasks.
 */
export const retriesAtOf = ({ value, context: { retry, pause } }: SlotHolder): number | undefined =>
  isStoppedForPause({ value }) ? pause?.refusal?.until : retry?.until;

/** Returns what a run of a task asks for: the newest one, if it is given the task's context. */
export const slotRequestOf = ({
  facts,
  run,
  ownModel,
  model: changed,
  pause,
}: Pick<TaskContext, "facts" | "ownModel" | "model" | "pause"> & {
  run: Pick<TaskContext["run"], "startedAt">;
}): SlotRequest => {
  const model = modelOf({ facts, ownModel, model: changed });
  return {
    taskId: facts.sessionID,
    agent: facts.agent,
    provider: model?.providerID,
    model: model && `${model.providerID}/${model.modelID}`,
    priority: facts.priority,
    since: run.startedAt,
    // A run whose provider was to serve again is not held up by what that said to another one.
    goesOn: goesOn({ model: changed }) || pause?.refusal !== undefined,
  };
};
