import type { Task } from "../../../task.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { nameOf, own, quoteLine } from "../../text/own-text.ts";
import { refusedForGood, retryPrompt } from "../../text/retry-text.ts";
import type { EngineContext } from "../context.ts";
import type { RetryRequest } from "../requests.ts";
import { goOn } from "./go-on.ts";
import { findTask } from "./read-task.ts";

const wasStopped = ({ status }: Pick<Task, "status">): boolean => status === "error" || status === "cancelled";

/** Refuses a task whose parent task was stopped as well: its result would wake an agent that is not to work any more. */
const parentObstacle = ({ store }: EngineContext, { sessionID, parentTaskId }: Task) => {
  const parent = parentTaskId === undefined ? undefined : store.get(parentTaskId)?.task;
  if (!parent || !wasStopped(parent)) return undefined;
  return fail(
    own`Task ${nameOf(sessionID)} was launched by task ${nameOf(parent.sessionID)}, which has ended as well (${parent.status}) and would not read its result. Retry that one: its agent can have this one go on.`,
  );
};

/** True where the conversation has the prompt of the newest run: not where that was cancelled in the queue, or never taken. */
const hasPrompt = async ({ host, store }: EngineContext, task: Task): Promise<Outcome<boolean>> => {
  const { remote, run } = store.get(task.sessionID)?.snapshot.context ?? {};
  if (remote) return { ok: true, value: remote.attempts.length > 0 };
  if (!run) return { ok: true, value: true };
  const found = await host.message(task.sessionID, run.messageID);
  if (found.ok || found.failure.kind === "notFound") return { ok: true, value: found.ok };
  return fail(
    own`OpenCode did not read the task's conversation: ${quoteLine(found.failure.message)}. Try again.`,
    "host",
  );
};

/**
 * Has a task go on that failed, was cancelled or was stopped at a limit: in its own session, after its last finished step. Does
 * not wait for the result. A failure says why it cannot, and what would help; nothing is changed then.
 */
export const retry = async (ctx: EngineContext, request: RetryRequest): Promise<Outcome<Task>> => {
  const { store, stopsUnderWay } = ctx;
  const found = findTask(ctx, request.parentSessionID, request.taskId);
  if (!found.ok) return found;
  const task = found.value;
  const prompt = request.prompt?.trim() === "" ? undefined : request.prompt;
  // What is not to be retried at all is refused by the chart.
  if (wasStopped(task)) {
    const obstacle = parentObstacle(ctx, task);
    if (obstacle) return obstacle;
    const refused = prompt === undefined && request.model === undefined ? refusedForGood(task) : undefined;
    if (refused) return fail(refused);
  }
  return goOn(ctx, task, "RETRY", request, async () => {
    // What still stops the run that has ended would stop the next one.
    await stopsUnderWay.untilDone(task.sessionID);
    const isThere = await hasPrompt(ctx, task);
    if (!isThere.ok) return isThere;
    const unsent = isThere.value ? undefined : store.get(task.sessionID)?.snapshot.context.run.prompt;
    if (unsent !== undefined) return { ok: true, value: prompt === undefined ? unsent : `${unsent}\n\n${prompt}` };
    // The server that launched the task has said why it was stopped.
    if (request.job && prompt !== undefined) return { ok: true, value: prompt };
    return { ok: true, value: retryPrompt(task, prompt, store.list({ parentSessionID: task.sessionID })) };
  });
};
