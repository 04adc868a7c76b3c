import type { TaskEvent } from "../../../machines/task/events.ts";
import type { ModelRef, Task } from "../../../task.ts";
import { logFault } from "../../platform/log.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { instructionText } from "../../text/child-prompts.ts";
import { modelName } from "../../text/model-and-server.ts";
import { nameOf, own, quoteLine } from "../../text/own-text.ts";
import type { EngineContext } from "../context.ts";
import type { ResumeRequest, SteerRequest } from "../requests.ts";
import { findTask, getTask } from "./read-task.ts";

/** Returns the model that a task was launched with, and that its next run begins with: the first that a run was refused by. */
const ownModelOf = ({ model, refusedModels: [first] = [] }: Task): ModelRef | undefined =>
  first === undefined ? model : first.model;

const resumeEvent = ({ clock, ids }: EngineContext, { prompt, job }: ResumeRequest): TaskEvent => {
  const [messageID, partID = ""] = [ids.message(), ...ids.parts(1)];
  return { type: "RESUME", at: clock.now(), messageID, partID, prompt, ...(job ? { job } : {}) };
};

/** Provides what the task goes on with: its worktree, or the server that has its conversation. A failure says why it cannot. */
const prepare = async (
  { worktrees, remoteRuns }: EngineContext,
  task: Task,
  signal: AbortSignal,
): Promise<Outcome<void>> => {
  if (task.server === undefined) return worktrees.prepare(task, signal);
  if (remoteRuns) return remoteRuns.mayResume(task, task.server);
  return fail(own`Its conversation is on server ${quoteLine(task.server.label)}, and this one is in no fleet.`);
};

/**
 * Sends a follow-up prompt to a completed task's own session; does not wait for the result. A failure says why it cannot be
 * sent.
 */
export const resume = async (ctx: EngineContext, request: ResumeRequest): Promise<Outcome<Task>> => {
  const { host, runtime, progress, clock, log, options, sessionDirectories, sessionTree } = ctx;
  const found = findTask(ctx, request.parentSessionID, request.taskId);
  if (!found.ok) return found;
  const { sessionID, agent } = found.value;
  const model = ownModelOf(found.value);
  if (request.prompt.trim() === "") return fail("The prompt is empty: say what the agent should do next.");
  if (request.agent !== undefined && request.agent.toLowerCase() !== agent.toLowerCase()) {
    return fail(
      own`A task never changes its agent: task ${nameOf(sessionID)} works with ${quoteLine(agent)}. Leave agent out.`,
    );
  }
  if (request.model !== undefined && (model === undefined || request.model !== modelName(model))) {
    const ofTask =
      model === undefined ? own`` : own`: task ${nameOf(sessionID)} works with ${quoteLine(modelName(model))}`;
    return fail(own`A task never changes its model${ofTask}. Leave model out, or launch a new task with it.`);
  }
  const refusal = () => {
    const reason = runtime.refusalReason(sessionID, resumeEvent(ctx, request));
    return reason === undefined ? undefined : fail(`Task ${sessionID} cannot be resumed: ${reason}.`);
  };
  const refusedAtOnce = refusal();
  if (refusedAtOnce) return refusedAtOnce;
  await request.permit?.(found.value);
  const session = await host.session(sessionID);
  if (!session.ok && session.failure.kind === "notFound") {
    return fail(
      `The session of task ${sessionID} does not exist any more. Start a new task with ${options.notice.tools.launch}.`,
    );
  }
  if (!session.ok) {
    const message = quoteLine(session.failure.message);
    return fail(own`OpenCode did not find the task's session: ${message}. Try again.`, "host");
  }
  if (session.value.isReverted) {
    return fail(
      `The user has taken back messages of task ${sessionID} (undo), which a resume would delete for good. Have them redo that, or write to the task's conversation, and resume it then.`,
    );
  }
  const prepared = await prepare(ctx, found.value, request.signal);
  if (!prepared.ok) return prepared;
  // So that its requests reach the session that the user looks at.
  const onFault = logFault(log, "the ancestors of a task could not be read", { sessionID });
  sessionTree.loadAncestors(sessionID).catch(onFault);
  if (request.signal.aborted) return fail("The turn was aborted; nothing was sent.");
  // Another resume may have started while the host or the user was being asked.
  const refusedNow = refusal();
  if (refusedNow) return refusedNow;
  const { overlaps: _, ...counted } = found.value.progress;
  progress.begin(sessionID, clock.now(), counted);
  if (found.value.worktree && !found.value.server) sessionDirectories.enter(sessionID, found.value.worktree.directory);
  runtime.send(sessionID, resumeEvent(ctx, request));
  const task = getTask(ctx, sessionID);
  return task ? { ok: true, value: task } : fail(`Task ${sessionID} was cleared.`);
};

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
  };
  const refusal = runtime.refusalReason(sessionID, event);
  if (refusal !== undefined) return fail(`Task ${sessionID} cannot be steered: it ${refusal}.`);
  runtime.send(sessionID, event);
  const task = getTask(ctx, sessionID);
  return task ? { ok: true, value: task } : fail(`Task ${sessionID} was cleared.`);
};
