import type { TaskError } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import type { EngineContext } from "../context.ts";
import { cancelChildren } from "../operations/cancel.ts";
import { readLastWords } from "../operations/read-task.ts";

const end = async (ctx: EngineContext, taskId: string, error: TaskError, mayEnd: () => boolean): Promise<void> => {
  const { runtime, clock, log } = ctx;
  const run = runtime.snapshotOf(taskId)?.context.run;
  if (!run) return;
  // Read before the stop, while the host surely has the session.
  const said = await readLastWords(ctx, taskId, run.messageID).catch((reason) => {
    log.error("the last words of a task could not be read", { taskId, reason: errorMessage(reason) });
    return undefined;
  });
  if (runtime.snapshotOf(taskId)?.context.run.index !== run.index || !mayEnd()) return;
  runtime.send(taskId, { type: "LIMIT_EXCEEDED", at: clock.now(), error, ...(said === undefined ? {} : { said }) });
  // At once, as when a person cancels: the notices of these tasks would wake the session that is being stopped.
  if (runtime.snapshotOf(taskId)?.hasTag("stopping")) await cancelChildren(ctx, taskId);
};

/**
 * Ends the run of a task that is beyond a limit. Does nothing while that is under way, or when the run is not under way.
 * @param mayEnd is asked at the last moment, when the last words are read: the host may take seconds for them, and a run that
 * may not be ended by then goes on. Default: it may, since what is used stays used
 */
export const endRun = (ctx: EngineContext, taskId: string, error: TaskError, mayEnd = () => true): void => {
  const { runtime, clock, log, endingRuns } = ctx;
  const snapshot = runtime.snapshotOf(taskId);
  if (endingRuns.has(taskId) || !snapshot?.can({ type: "LIMIT_EXCEEDED", at: clock.now(), error })) return;
  endingRuns.add(taskId);
  end(ctx, taskId, error, mayEnd)
    .catch((reason) => log.error("a task beyond its limit was not ended", { taskId, reason: errorMessage(reason) }))
    .finally(() => endingRuns.delete(taskId));
};
