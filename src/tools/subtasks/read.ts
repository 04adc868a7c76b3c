import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { wholeNumber } from "../arguments.ts";
import { defineTool } from "../define-tool.ts";
import { orThrow, type ToolDeps } from "../tool-context.ts";
import { endOf, isOver, toToolOutput } from "./result.ts";

/** Reads on in the answer of a subtask that was too long for the host to pass it on whole. */
export const readTool = ({ engine }: ToolDeps): ToolDefinition =>
  defineTool({
    description: "Read on in a subtask's answer that was cut.",
    args: {
      taskId: tool.schema.string().trim(),
      offset: wholeNumber(0).optional().describe("Characters to skip"),
    },
    execute: async ({ taskId, offset }, { sessionID }) => {
      const task = orThrow(engine.find(sessionID, taskId));
      if (!isOver(task)) throw new Error(`Subtask ${task.sessionID} has not ended yet; a notice comes when it does.`);
      engine.markRetrieved(task.sessionID);
      return toToolOutput(task.description, await endOf(task, engine), offset);
    },
  });
