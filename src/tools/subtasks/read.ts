import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { wholeNumber } from "../arguments.ts";
import { defineTool, orThrow, type ToolDeps } from "../define-tool.ts";
import { endedResult, isEnded, toToolOutput } from "./result.ts";

/** Creates `read_subtask`: reads more of a subtask's answer that was too long for one tool output. */
export const readTool = ({ engine }: ToolDeps): ToolDefinition =>
  defineTool({
    description: "Read more of a subtask's truncated answer.",
    args: {
      taskId: tool.schema.string().trim(),
      offset: wholeNumber(0).optional().describe("Characters to skip"),
    },
    execute: async ({ taskId, offset }, { sessionID }) => {
      const task = orThrow(engine.find(sessionID, taskId));
      if (!isEnded(task))
        throw new Error(`Subtask ${task.sessionID} has not ended yet; you get a notice when it does.`);
      engine.markRetrieved(task.sessionID);
      return toToolOutput(task.description, await endedResult(task, engine), offset);
    },
  });
