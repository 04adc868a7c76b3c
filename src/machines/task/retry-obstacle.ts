import type { TaskError } from "../../task.ts";

/** OpenCode's name for the error of a conversation that is longer than its model takes. */
const CONTEXT_OVERFLOW = "ContextOverflowError";

/**
 * Returns why a task that failed with this error would only fail again, in words that follow "task … cannot be retried: it";
 * undefined where it may end otherwise.
 * @param isOtherModel whether it is to go on with another model
 */
export const retryObstacle = (
  error: Pick<TaskError, "kind" | "name"> | undefined,
  isOtherModel = false,
): string | undefined => {
  if (error?.kind === "sessionGone")
    return "has no conversation any more, since its session was deleted: launch a new task";
  if (error?.name === CONTEXT_OVERFLOW && !isOtherModel)
    return "has a longer conversation than its model takes, and would fail again: name another model, or launch a new task with less to read";
  return undefined;
};
