import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { TaskStatus } from "../task.ts";
import type { ToolParts } from "./context.ts";
import { lineOf } from "./words.ts";

/** Lists the tasks of the calling session, and no others. */
export const listTool = ({ engine, clock }: ToolParts): ToolDefinition =>
  tool({
    description: "List this session's background tasks.",
    args: { status: tool.schema.enum(TaskStatus.options).optional() },
    execute: async ({ status }, { sessionID }) => {
      const tasks = engine.list({ parentSessionID: sessionID, ...(status ? { status } : {}) });
      if (tasks.length === 0) return "No background tasks found";
      return tasks.map((task) => lineOf(task, clock.now())).join("\n");
    },
  });
