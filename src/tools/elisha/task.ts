import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { errorMessage } from "../../services/platform/log.ts";
import { fail } from "../../services/platform/result.ts";
import { defineTool, type ToolDeps } from "../define-tool.ts";
import { launchForCaller } from "../launch-for-caller.ts";
import { agentNotFound, failed, refusal, resultOf, toToolOutput, waitForResult } from "./result.ts";

const { string, boolean } = tool.schema;

/** `opencode run` ends with its agent's first answer, and all running tasks end with it. */
const COLLECT_FIRST =
  " OpenCode ends with your answer: first collect each async task with elisha_task_output and wait: true.";

/** Creates `elisha_task`: launches a task, and waits for its result unless `async` is true. */
export const taskTool = (deps: ToolDeps): ToolDefinition =>
  defineTool({
    description: `Create a task for an agent and wait for its result; with async it runs in the background, and you are told when it ends.${deps.isHeadless ? COLLECT_FIRST : ""}`,
    args: {
      title: string().describe("Short description of the task"),
      agent: string().describe("Agent name to use"),
      prompt: string().describe("All the agent needs to know"),
      async: boolean().optional().describe("Run in background (default: false)"),
    },
    refuse: refusal,
    ignoresUnknown: true,
    execute: async ({ title, agent, prompt, async = false }, context) => {
      const launched = await launchForCaller(context, deps.engine, { description: title, prompt, agent }).catch(
        (error) => fail(errorMessage(error)),
      );
      if (!launched) return refusal("The turn was aborted; nothing was launched.");
      if (!launched.ok)
        return toToolOutput(launched.cause === "agent" ? agentNotFound(agent) : failed(launched.reason));
      const { task } = launched.value;
      return toToolOutput(async ? resultOf(task) : await waitForResult(deps, task.sessionID, undefined, context));
    },
  });
