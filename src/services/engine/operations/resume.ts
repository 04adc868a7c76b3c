import type { TaskEvent } from "../../../machines/task/events.ts";
import type { Task } from "../../../task.ts";
import { truncateLine } from "../../platform/plain-text.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { instructionText } from "../../text/child-prompts.ts";
import type { EngineContext } from "../context.ts";
import type { ResumeRequest, SteerRequest } from "../requests.ts";
import { goOn } from "./go-on.ts";
import { findTask, getTask } from "./read-task.ts";

/**
 * Sends a follow-up prompt to a completed task's own session; does not wait for the result. A failure says why it cannot be
 * sent.
 */
export const resume = async (ctx: EngineContext, request: ResumeRequest): Promise<Outcome<Task>> => {
  const found = findTask(ctx, request.parentSessionID, request.taskId);
  if (!found.ok) return found;
  const { prompt } = request;
  if (prompt.trim() === "") return fail("The prompt is empty: say what the agent should do next.");
  return goOn(ctx, found.value, "RESUME", request, async () => ({ ok: true, value: prompt }));
};

/** Characters of an instruction by which its giver recognizes it. */
const GIST_CHARS = 200;

/**
 * Gives a running task a further instruction, which its agent sees at its next step. Returns once the instruction is stored
 * with the task; from then on it is sent until it is in the child's conversation. A failure says why it was not taken.
 */
export const steer = (ctx: EngineContext, { parentSessionID, taskId, prompt, from }: SteerRequest): Outcome<Task> => {
  const { runtime, clock, ids } = ctx;
  const found = findTask(ctx, parentSessionID, taskId);
  if (!found.ok) return found;
  if (prompt.trim() === "") return fail("The prompt is empty: say what the agent should take into account.");
  const { sessionID } = found.value;
  const event: TaskEvent = {
    type: "STEER",
    at: clock.now(),
    messageID: ids.message(),
    partID: ids.parts(1)[0] ?? "",
    prompt: instructionText(prompt, from),
    text: truncateLine(prompt, GIST_CHARS),
    from,
  };
  const refusal = runtime.refusalReason(sessionID, event);
  if (refusal !== undefined) return fail(`Task ${sessionID} cannot be steered: it ${refusal}.`);
  runtime.send(sessionID, event);
  const task = getTask(ctx, sessionID);
  return task ? { ok: true, value: task } : fail(`Task ${sessionID} was cleared.`);
};
