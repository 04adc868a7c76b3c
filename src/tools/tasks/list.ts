import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { TaskStatus } from "../../task.ts";
import { defineTool } from "../define-tool.ts";
import type { ToolParts } from "../tool-context.ts";
import { listOf } from "./format.ts";

/** Lists the tasks of the calling session, and no others. */
export const listTool = ({ engine, clock }: ToolParts): ToolDefinition =>
  defineTool({
    description: "List this session's background tasks.",
    args: { status: tool.schema.enum(TaskStatus.options).optional() },
    execute: async ({ status }, { sessionID }) => {
      const tasks = engine.list({ parentSessionID: sessionID });
      const list = listOf(tasks, (task) => status === undefined || task.status === status, clock.now());
      return list || "No background tasks found";
    },
  });
