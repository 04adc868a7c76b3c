import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import type { ToolParts } from "../context.ts";
import { answer, notFound, resultOf } from "./result.ts";

/** Stops a task and all that it launched. */
export const cancelTool = ({ engine }: ToolParts): ToolDefinition =>
  tool({
    description: "Cancel a running task.",
    args: { task_id: tool.schema.string().describe("The session ID to cancel") },
    execute: async ({ task_id }, { sessionID }) => {
      const found = engine.find(sessionID, task_id.trim());
      if (!found.ok) return answer(notFound(task_id, found.reason));
      const [cancelled] = await engine.cancel([found.value.sessionID]);
      if (!cancelled) return answer(notFound(task_id, `Task ${task_id} was removed meanwhile.`));
      const { task, refused } = cancelled;
      return answer(
        refused === undefined ? resultOf(task) : { ...resultOf(task), error: `Task ${task_id} ${refused}.` },
      );
    },
  });
