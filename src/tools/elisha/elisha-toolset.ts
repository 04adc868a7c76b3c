import { z } from "zod";
import { errorMessage } from "../../services/platform/log.ts";
import { fail } from "../../services/platform/result.ts";
import type { ToolNames } from "../../services/text/notice-text.ts";
import { wholeNumber } from "../arguments.ts";
import { defineTool, elsewhereError, shutdownError, type Tool, type ToolDeps } from "../define-tool.ts";
import { launchForCaller } from "../launch-for-caller.ts";
import {
  agentNotFound,
  currentResult,
  elishaOutput,
  failedResult,
  launchedResult,
  notCancelled,
  refusal,
  resultOf,
  unknownTask,
  waitForResult,
} from "./elisha-result.ts";

/** `opencode run` ends with its agent's first answer, and all running tasks end with it. */
const COLLECT_FIRST =
  " OpenCode ends with your answer: first collect each async task with elisha_task_output and wait: true.";

/** Creates `elisha_task`: launches a task, and waits for its result unless `async` is true. */
const taskTool = (deps: ToolDeps): Tool =>
  defineTool(deps, {
    description: `Create a task for an agent and wait for its result; with async it runs in the background, and you are notified when it ends.${deps.isHeadless ? COLLECT_FIRST : ""}`,
    args: {
      title: z.string().describe("Short description of the task"),
      agent: z.string().describe("Agent name to use"),
      prompt: z.string().describe("All the agent needs to know"),
      schema: z.looseObject({}).optional().describe("JSON Schema for the result"),
      async: z.boolean().optional().describe("Run in background (default: false)"),
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
  defineTool(deps, {
    description: "Get the status and result of a task.",
    args: {
      task_id: z.string().trim().describe("The session ID of the task"),
      wait: z.boolean().optional().describe("Wait for completion (default: false)"),
      timeout: z.number().optional().describe("Max wait time in ms (only if wait=true); default: no limit"),
      offset: wholeNumber(0).optional().describe("Characters of the result to skip"),
    },
    refuse: refusal,
    execute: async ({ task_id, wait = false, timeout, offset = 0 }, context) => {
      if (wait && timeout !== undefined && timeout < 0) {
        return refusal(`timeout is ${timeout}, but must be 0 or more milliseconds.`);
      }
      const found = deps.engine.find(context.sessionID, task_id);
      if (!found.ok) return elishaOutput(unknownTask(task_id, found.reason));
      const taskId = found.value.sessionID;
      return elishaOutput(
        wait ? await waitForResult(deps, taskId, timeout, context) : currentResult(deps.engine, taskId),
        offset,
      );
    },
  });

/** Creates `elisha_task_cancel`: cancels a task and its child tasks. No notice follows, since its answer reports the end. */
const cancelTool = ({ engine }: ToolDeps): Tool =>
  defineTool(
    { engine },
    {
      description: "Cancel a running task.",
      args: { task_id: z.string().trim().describe("The session ID to cancel") },
      refuse: refusal,
      execute: async ({ task_id }, { sessionID, callID, abort }) => {
        const found = engine.find(sessionID, task_id);
        if (!found.ok) return elishaOutput(unknownTask(task_id, found.reason));
        const taskId = found.value.sessionID;
        // A task that refuses goes on: this answer does not report its end.
        const answered = new AbortController();
        const signal = AbortSignal.any([abort, answered.signal]);
        const [outcome, [cancelled]] = await Promise.all([
          engine.wait({ taskIds: [taskId], sessionID, callID, signal, timeoutMs: undefined }),
          engine.cancel([taskId]).finally(() => answered.abort()),
        ]);
        if (outcome === "stopped") throw shutdownError([taskId]);
        if (!cancelled) return elishaOutput(unknownTask(taskId, `Task ${taskId} was removed meanwhile.`));
        const { task, refused } = cancelled;
        // What refuses since another process has it goes on there.
        if (outcome === "elsewhere" && refused === undefined) throw elsewhereError();
        return elishaOutput(refused === undefined ? resultOf(task) : notCancelled(task, `Task ${taskId} ${refused}.`));
      },
    },
  );

const TASK = "elisha_task";
const OUTPUT = "elisha_task_output";

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
  elisha_task_cancel: cancelTool(deps),
});
