import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { defineTool, shutdownError, type ToolDeps } from "../define-tool.ts";
import { notCancelled, notFound, refusal, resultOf, toToolOutput } from "./result.ts";

/** Creates `elisha_task_cancel`: cancels a task and its child tasks. No notice follows, since its answer reports the end. */
export const cancelTool = ({ engine }: ToolDeps): ToolDefinition =>
  defineTool({
    description: "Cancel a running task.",
    args: { task_id: tool.schema.string().trim().describe("The session ID to cancel") },
    refuse: refusal,
    execute: async ({ task_id }, { sessionID, callID, abort }) => {
      const found = engine.find(sessionID, task_id);
      if (!found.ok) return toToolOutput(notFound(task_id, found.reason));
      const taskId = found.value.sessionID;
      const [outcome, [cancelled]] = await Promise.all([
        engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs: undefined }),
        engine.cancel([taskId]),
      ]);
      if (outcome === "stopped") throw shutdownError([taskId]);
      if (!cancelled) return toToolOutput(notFound(taskId, `Task ${taskId} was removed meanwhile.`));
      const { task, refused } = cancelled;
      return toToolOutput(refused === undefined ? resultOf(task) : notCancelled(task, `Task ${taskId} ${refused}.`));
    },
  });
