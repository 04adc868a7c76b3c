import { duration } from "../../services/text/notice.ts";
import { hasEnded } from "../../task.ts";
import { type CallContext, shutdownError, type ToolDeps } from "../tool-context.ts";
import { notFound, resultOf, type TaskResult, timedOut } from "./result.ts";

/** Waits for the task's end, which the answer then tells: no notice follows. An abort of the turn ends the wait at once. */
export const waitForResult = async (
  { engine }: ToolDeps,
  taskId: string,
  timeoutMs: number | undefined,
  { sessionID, callID, abort }: CallContext,
): Promise<TaskResult> => {
  const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs });
  if (outcome === "stopped") throw shutdownError([taskId]);
  return outcome === "timedOut" ? currentResult(engine, taskId, timeoutMs) : currentResult(engine, taskId);
};

/** How the task stands; the result of one that has ended counts as read. With `waitedMs`, it was waited for in vain. */
export const currentResult = (engine: ToolDeps["engine"], taskId: string, waitedMs?: number): TaskResult => {
  const task = engine.get(taskId);
  if (!task) return notFound(taskId, `Task ${taskId} was removed meanwhile.`);
  if (hasEnded(task)) engine.markRetrieved(taskId);
  return waitedMs === undefined ? resultOf(task) : timedOut(task, duration(waitedMs));
};
