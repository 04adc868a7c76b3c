import { tool } from "@opencode-ai/plugin";
import { z } from "zod";
import { errorMessage } from "../../services/platform/log.ts";
import { fail } from "../../services/platform/result.ts";
import { duration } from "../../services/text/amounts.ts";
import { runsHere } from "../../services/text/model-and-server.ts";
import type { ToolNames } from "../../services/text/notice-text.ts";
import { type OwnText, own } from "../../services/text/own-text.ts";
import { attentionSummary } from "../../services/text/request-text.ts";
import { quoteError, whatResultLacks } from "../../services/text/result-text.ts";
import { queueSummary } from "../../services/text/task-state.ts";
import { hasEnded, type Task, type TaskStatus } from "../../task.ts";
import { wholeNumber } from "../arguments.ts";
import {
  type CallContext,
  defineTool,
  elsewhereError,
  launchForCaller,
  shutdownError,
  type Tool,
  type ToolDeps,
  truncateField,
  truncateToLimit,
} from "../define-tool.ts";
import { CANCEL, OUTPUT, TASK } from "./names.ts";

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
const launchedResult = (task: Task, notOffered: string | undefined): TaskResult => {
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
const notCancelled = (task: Task, reason: string): TaskResult => {
  const result = resultOf(task);
  if (task.status === "cancelled") return result;
  return { ...result, error: task.error ? `${reason} Its error: ${quoteError(task.error)}` : reason };
};

/** Describes a call that failed: that of a task, or one that names a task which the calling session does not have. */
const failedResult = (reason: string, taskId?: string): TaskResult => ({
  status: "failed",
  ...(taskId === undefined ? {} : { task_id: taskId }),
  error: reason,
  code: "SESSION_ERROR",
});

/** Describes an agent that does not exist, in the specification's words. */
const agentNotFound = (agent: string): TaskResult => ({
  status: "failed",
  error: `Agent(${agent}) not found or not active.`,
  code: "AGENT_NOT_FOUND",
});

/**
 * Waits until the task has ended, and returns its result; no notice follows, since this answer reports the end. The wait
 * ends early when the calling turn is aborted, or after `timeoutMs` milliseconds (undefined: no limit).
 * @throws Error if the plugin shuts down meanwhile.
 */
const waitForResult = async (
  { engine }: ToolDeps,
  taskId: string,
  timeoutMs: number | undefined,
  { sessionID, callID, abort }: CallContext,
): Promise<TaskResult> => {
  const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs });
  if (outcome === "stopped") throw shutdownError([taskId]);
  if (outcome === "elsewhere") throw elsewhereError();
  return currentResult(engine, taskId, outcome === "timedOut" ? timeoutMs : undefined);
};

/**
 * Returns the task's current result, and marks it as read if the task has ended.
 * @param waitedMs Milliseconds of a wait that timed out, if there was one.
 */
const currentResult = (engine: ToolDeps["engine"], taskId: string, waitedMs?: number): TaskResult => {
  const task = engine.get(taskId);
  if (!task) return failedResult(`Task ${taskId} was removed meanwhile.`, taskId);
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
const elishaOutput = (result: TaskResult, offset = 0) => {
  const readOn = (next: number) => `Read on: elisha_task_output(task_id="${result.task_id}", offset=${next}).`;
  return {
    title: result.title ?? "",
    output: JSON.stringify(TaskResult.parse(truncateToLimit(trimmed(result), "result", { offset, readOn }))),
    metadata: result.task_id === undefined ? {} : { sessionId: result.task_id },
  };
};

/** Answers a call with invalid arguments. */
const refusal = (reason: string) => elishaOutput(failedResult(reason));

/** `opencode run` ends with its agent's first answer, and all running tasks end with it. */
const COLLECT_FIRST =
  " OpenCode ends with your answer: first collect each async task with elisha_task_output and wait: true.";

/** Creates `elisha_task`: launches a task, and waits for its result unless `async` is true. */
const taskTool = (deps: ToolDeps): Tool =>
  defineTool(deps.engine, {
    description: `Create a task for an agent and wait for its result; with async it runs in the background, and you are notified when it ends.${deps.isHeadless ? COLLECT_FIRST : ""}`,
    args: {
      title: tool.schema.string().describe("Short description of the task"),
      agent: tool.schema.string().describe("Agent name to use"),
      prompt: tool.schema.string().describe("All the agent needs to know"),
      schema: tool.schema.looseObject({}).optional().describe("JSON Schema for the result"),
      async: tool.schema.boolean().optional().describe("Run in background (default: false)"),
    },
    refuse: refusal,
    ignoresUnknown: true,
    execute: async ({ title, agent, prompt, schema, async = false }, context) => {
      const launched = await launchForCaller(context, deps, { description: title, prompt, agent, schema }).catch(
        (error) => fail(errorMessage(error)),
      );
      if (!launched) return refusal("The turn was aborted; nothing was launched.");
      if (!launched.ok)
        return elishaOutput(launched.cause === "agent" ? agentNotFound(agent) : failedResult(launched.reason));
      const { task, notOffered } = launched.value;
      return elishaOutput(
        async ? launchedResult(task, notOffered) : await waitForResult(deps, task.sessionID, undefined, context),
      );
    },
  });

/** Creates `elisha_task_output`: shows a task's status and result, and waits for its end on request. */
const outputTool = (deps: ToolDeps): Tool =>
  defineTool(deps.engine, {
    description: "Get the status and result of a task.",
    args: {
      task_id: tool.schema.string().trim().describe("The session ID of the task"),
      wait: tool.schema.boolean().optional().describe("Wait for completion (default: false)"),
      timeout: tool.schema.number().optional().describe("Max wait time in ms (only if wait=true); default: no limit"),
      offset: wholeNumber(0).optional().describe("Characters of the result to skip"),
    },
    refuse: refusal,
    execute: async ({ task_id, wait = false, timeout, offset = 0 }, context) => {
      if (wait && timeout !== undefined && timeout < 0) {
        return refusal(`timeout is ${timeout}, but must be 0 or more milliseconds.`);
      }
      const found = deps.engine.find(context.sessionID, task_id);
      if (!found.ok) return elishaOutput(failedResult(found.reason, task_id));
      const taskId = found.value.sessionID;
      return elishaOutput(
        wait ? await waitForResult(deps, taskId, timeout, context) : currentResult(deps.engine, taskId),
        offset,
      );
    },
  });

/** Creates `elisha_task_cancel`: cancels a task and its child tasks. No notice follows, since its answer reports the end. */
const cancelTool = ({ engine }: ToolDeps): Tool =>
  defineTool(engine, {
    description: "Cancel a running task.",
    args: { task_id: tool.schema.string().trim().describe("The session ID to cancel") },
    refuse: refusal,
    execute: async ({ task_id }, { sessionID, callID, abort }) => {
      const found = engine.find(sessionID, task_id);
      if (!found.ok) return elishaOutput(failedResult(found.reason, task_id));
      const taskId = found.value.sessionID;
      // A task that refuses goes on: this answer does not report its end.
      const answered = new AbortController();
      const signal = AbortSignal.any([abort, answered.signal]);
      const [outcome, [cancelled]] = await Promise.all([
        engine.wait({ taskIds: [taskId], sessionID, callID, signal, timeoutMs: undefined }),
        engine.cancel([taskId]).finally(() => answered.abort()),
      ]);
      if (outcome === "stopped") throw shutdownError([taskId]);
      if (!cancelled) return elishaOutput(failedResult(`Task ${taskId} was removed meanwhile.`, taskId));
      const { task, refused } = cancelled;
      // What refuses since another process has it goes on there.
      if (outcome === "elsewhere" && refused === undefined) throw elsewhereError();
      return elishaOutput(refused === undefined ? resultOf(task) : notCancelled(task, `Task ${taskId} ${refused}.`));
    },
  });

/** The names under which texts mention these tools. The toolset has no list and no resume. */
export const elishaNames: ToolNames = { launch: TASK, output: OUTPUT, list: undefined, resume: undefined };

/**
 * Creates the tools of the toolset `elisha`, the JSON toolset: every answer is a JSON object (`TaskResult`), and a launch
 * waits for the result unless `async` is true. The names of the toolset and its tools come from the specification that it
 * implements, the task domain of Elisha, a multi-agent plugin for OpenCode; the option `prefix` does not apply to them.
 */
export const elishaToolset = (deps: ToolDeps): Record<string, Tool> => ({
  [TASK]: taskTool(deps),
  [OUTPUT]: outputTool(deps),
  [CANCEL]: cancelTool(deps),
});
