import { z } from "zod";
import { quoteError } from "../../services/text/notice.ts";
import { type OwnText, own } from "../../services/text/own-text.ts";
import { attentionSummary } from "../../services/text/user-request.ts";
import { hasEnded, type Task, type TaskStatus } from "../../task.ts";
import { truncateField, truncateToLimit } from "../fit-output.ts";

const Status = z.enum(["running", "completed", "failed", "cancelled"]);

/** What every tool of this toolset answers, as JSON. */
export const TaskResult = z.strictObject({
  status: Status,
  task_id: z.string().optional(),
  agent: z.string().optional(),
  title: z.string().optional(),
  /** What the agent answered last. */
  result: z.string().optional(),
  error: z.string().optional(),
  /**
   * - `AGENT_NOT_FOUND`: nothing was made
   * - `SESSION_ERROR`: the session could not be made, is not there, or failed; or the call was refused, and did nothing.
   *   The specification has no code of its own for that, and a reader of its three must not meet a fourth.
   * - `TIMEOUT`: the wait is over, and the task goes on
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

const heldUpBy = (task: Task): OwnText | undefined => {
  const asked = attentionSummary(task);
  return asked && own`It waits for the user to answer a ${asked}`;
};

const faultOf = (task: Task): Pick<TaskResult, "error" | "code"> => {
  const { error } = task;
  if (error) return { error: `${error.name}: ${error.message}`, code: "SESSION_ERROR" };
  const wait = heldUpBy(task);
  return wait === undefined ? {} : { error: wait };
};

/** A task as it stands. */
export const resultOf = (task: Task): TaskResult => ({
  status: STATUS[task.status],
  task_id: task.sessionID,
  agent: task.agent,
  title: task.description,
  ...(task.result === undefined ? {} : { result: task.result }),
  ...faultOf(task),
});

/** A task that was waited for in vain. */
export const timedOut = (task: Task, waitedFor: string): TaskResult =>
  hasEnded(task)
    ? resultOf(task)
    : {
        ...resultOf(task),
        error: `Still running after ${waitedFor}. ${heldUpBy(task) ?? "It goes on."}`,
        code: "TIMEOUT",
      };

/** A task that could not be cancelled, and why; one that somebody else has cancelled meanwhile is what was asked for. */
export const notCancelled = (task: Task, reason: string): TaskResult => {
  const result = resultOf(task);
  if (task.status === "cancelled") return result;
  return { ...result, error: task.error ? `${reason} Its error: ${quoteError(task.error)}` : reason };
};

/** Something that could not be done, and why. */
export const failed = (reason: string): TaskResult => ({ status: "failed", error: reason, code: "SESSION_ERROR" });

/** The agent is not there, in the specification's words. */
export const agentNotFound = (agent: string): TaskResult => ({
  status: "failed",
  error: `Agent(${agent}) not found or not active.`,
  code: "AGENT_NOT_FOUND",
});

/** There is no such task, for the calling session. */
export const notFound = (taskId: string, reason: string): TaskResult => ({
  status: "failed",
  task_id: taskId,
  error: reason,
  code: "SESSION_ERROR",
});

/** The result with everything but the agent's answer no longer than a person would write it. */
const trimmed = ({ status, code, result, ...texts }: TaskResult): TaskResult => ({
  status,
  ...Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, truncateField(text)])),
  ...(result === undefined ? {} : { result }),
  ...(code === undefined ? {} : { code }),
});

/**
 * What the host is given: the result as JSON, with the agent's answer from `offset` characters on, and beside it what the
 * host's interface shows.
 */
export const toToolOutput = (result: TaskResult, offset = 0) => {
  const readOn = (next: number) => `Read on: elisha_task_output(task_id="${result.task_id}", offset=${next}).`;
  return {
    title: result.title ?? "",
    output: JSON.stringify(TaskResult.parse(truncateToLimit(trimmed(result), "result", { offset, readOn }))),
    metadata: result.task_id === undefined ? {} : { sessionId: result.task_id },
  };
};

/** The answer to a call that is wrong. */
export const refusal = (reason: string) => toToolOutput(failed(reason));
