import { z } from "zod";
import { duration } from "../../services/text/amounts.ts";
import { runsHere } from "../../services/text/model-and-server.ts";
import { type OwnText, own } from "../../services/text/own-text.ts";
import { attentionSummary } from "../../services/text/request-text.ts";
import { quoteError, whatResultLacks } from "../../services/text/result-text.ts";
import { queueSummary } from "../../services/text/task-state.ts";
import { hasEnded, type Task, type TaskStatus } from "../../task.ts";
import { type CallContext, elsewhereError, shutdownError, type ToolDeps } from "../define-tool.ts";
import { truncateField, truncateToLimit } from "../fit-output.ts";

const Status = z.enum(["running", "completed", "failed", "cancelled"]);

/** What every tool of the toolset `elisha` answers, as JSON. The fields are fixed by its specification. */
export const TaskResult = z.strictObject({
  status: Status,
  task_id: z.string().optional(),
  agent: z.string().optional(),
  title: z.string().optional(),
  /** The agent's last answer. */
  result: z.string().optional(),
  /** Why it failed. Without a `code`, what the caller should know of it: what it waits for, or what its result lacks. */
  error: z.string().optional(),
  /**
   * - `AGENT_NOT_FOUND`: there is no such agent; nothing was launched
   * - `SESSION_ERROR`: the session could not be created, does not exist, or failed; or the call was refused and did nothing,
   *   for which the specification has no code, and a fourth code would break its readers
   * - `TIMEOUT`: the wait timed out; the task continues
   */
  code: z.enum(["AGENT_NOT_FOUND", "SESSION_ERROR", "TIMEOUT"]).optional(),
});
export type TaskResult = z.infer<typeof TaskResult>;

const STATUS: Record<TaskStatus, z.infer<typeof Status>> = {
  running: "running",
  resumed: "running",
  completed: "completed",
  error: "failed",
  cancelled: "cancelled",
};

const waitingFor = (task: Task): OwnText | undefined => {
  const summary = attentionSummary(task) ?? queueSummary(task);
  return summary && own`It is ${summary}`;
};

const errorOf = (task: Task): Pick<TaskResult, "error" | "code"> => {
  const { error } = task;
  if (error) return { error: `${error.name}: ${error.message}`, code: "SESSION_ERROR" };
  const note = task.status === "completed" ? whatResultLacks(task) : waitingFor(task);
  return note === undefined ? {} : { error: note };
};

/** Describes the current state of a task. */
export const resultOf = (task: Task): TaskResult => ({
  status: STATUS[task.status],
  task_id: task.sessionID,
  agent: task.agent,
  title: task.description,
  ...(task.result === undefined ? {} : { result: task.result }),
  ...errorOf(task),
});

/** Describes a task that was just launched; `notOffered` says why it is not for other servers, where its agent is. */
export const launchedResult = (task: Task, notOffered: string | undefined): TaskResult => {
  const result = resultOf(task);
  if (notOffered === undefined || hasEnded(task)) return result;
  return { ...result, error: [runsHere(notOffered), result.error].filter(Boolean).join(" ") };
};

/** Describes a task after a wait for it timed out. */
const timedOut = (task: Task, waitedFor: string): TaskResult =>
  hasEnded(task)
    ? resultOf(task)
    : {
        ...resultOf(task),
        error: `Still running after ${waitedFor}. ${waitingFor(task) ?? "The task continues."}`,
        code: "TIMEOUT",
      };

/** Describes a task that could not be cancelled, and why. It counts as success if the task was cancelled otherwise meanwhile. */
export const notCancelled = (task: Task, reason: string): TaskResult => {
  const result = resultOf(task);
  if (task.status === "cancelled") return result;
  return { ...result, error: task.error ? `${reason} Its error: ${quoteError(task.error)}` : reason };
};

/** Describes a call that failed. */
export const failedResult = (reason: string): TaskResult => ({
  status: "failed",
  error: reason,
  code: "SESSION_ERROR",
});

/** Describes an agent that does not exist, in the specification's words. */
export const agentNotFound = (agent: string): TaskResult => ({
  status: "failed",
  error: `Agent(${agent}) not found or not active.`,
  code: "AGENT_NOT_FOUND",
});

/** Describes a task that the calling session does not have. */
export const unknownTask = (taskId: string, reason: string): TaskResult => ({
  status: "failed",
  task_id: taskId,
  error: reason,
  code: "SESSION_ERROR",
});

/**
 * Waits until the task has ended, and returns its result; no notice follows, since this answer reports the end. The wait
 * ends early when the calling turn is aborted, or after `timeoutMs` milliseconds (undefined: no limit).
 * @throws Error if the plugin shuts down meanwhile.
 */
export const waitForResult = async (
  { engine }: ToolDeps,
  taskId: string,
  timeoutMs: number | undefined,
  { sessionID, callID, abort }: CallContext,
): Promise<TaskResult> => {
  const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs });
  if (outcome === "stopped") throw shutdownError([taskId]);
  if (outcome === "elsewhere") throw elsewhereError();
  return outcome === "timedOut" ? currentResult(engine, taskId, timeoutMs) : currentResult(engine, taskId);
};

/**
 * Returns the task's current result, and marks it as read if the task has ended.
 * @param waitedMs Milliseconds of a wait that timed out, if there was one.
 */
export const currentResult = (engine: ToolDeps["engine"], taskId: string, waitedMs?: number): TaskResult => {
  const task = engine.get(taskId);
  if (!task) return unknownTask(taskId, `Task ${taskId} was removed meanwhile.`);
  if (hasEnded(task)) engine.markRetrieved(task);
  return waitedMs === undefined ? resultOf(task) : timedOut(task, duration(waitedMs));
};

/** Cuts every text except the agent's result, for which `elishaOutput` has a limit of its own. */
const trimmed = ({ status, code, result, ...texts }: TaskResult): TaskResult => ({
  status,
  ...Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, truncateField(text)])),
  ...(result === undefined ? {} : { result }),
  ...(code === undefined ? {} : { code }),
});

/**
 * Converts a result to a tool's output: JSON with the agent's result from `offset` characters on, and the title and session
 * that the host's interface shows.
 */
export const elishaOutput = (result: TaskResult, offset = 0) => {
  const readOn = (next: number) => `Read on: elisha_task_output(task_id="${result.task_id}", offset=${next}).`;
  return {
    title: result.title ?? "",
    output: JSON.stringify(TaskResult.parse(truncateToLimit(trimmed(result), "result", { offset, readOn }))),
    metadata: result.task_id === undefined ? {} : { sessionId: result.task_id },
  };
};

/** Answers a call with invalid arguments. */
export const refusal = (reason: string) => elishaOutput(failedResult(reason));
