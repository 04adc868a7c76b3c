import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { wholeNumber } from "../arguments.ts";
import { defineTool, type ToolDeps } from "../define-tool.ts";
import { currentResult, notFound, refusal, toToolOutput, waitForResult } from "./result.ts";

const { string, boolean, number } = tool.schema;

/** Creates `elisha_task_output`: shows a task's status and result, and waits for its end on request. */
export const outputTool = (deps: ToolDeps): ToolDefinition =>
  defineTool({
    description: "Get the status and result of a task.",
    args: {
      task_id: string().trim().describe("The session ID of the task"),
      wait: boolean().optional().describe("Wait for completion (default: false)"),
      timeout: number().optional().describe("Max wait time in ms (only if wait=true); default: no limit"),
      offset: wholeNumber(0).optional().describe("Characters of the result to skip"),
    },
    refuse: refusal,
    execute: async ({ task_id, wait = false, timeout, offset = 0 }, context) => {
      if (wait && timeout !== undefined && timeout < 0) {
        return refusal(`timeout is ${timeout}, but must be 0 or more milliseconds.`);
      }
      const found = deps.engine.find(context.sessionID, task_id);
      if (!found.ok) return toToolOutput(notFound(task_id, found.reason));
      const taskId = found.value.sessionID;
      return toToolOutput(
        wait ? await waitForResult(deps, taskId, timeout, context) : currentResult(deps.engine, taskId),
        offset,
      );
    },
  });
