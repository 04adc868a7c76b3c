import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { TaskStatus } from "../../task.ts";
import { defineTool } from "../define-tool.ts";
import type { ToolDeps } from "../tool-context.ts";
import { formatTaskList } from "./format.ts";

/** Lists the tasks of the calling session, and no others. */
export const listTool = ({ engine, clock }: ToolDeps): ToolDefinition =>
  defineTool({
    description: "List this session's background tasks.",
    args: { status: tool.schema.enum(TaskStatus.options).optional() },
    execute: async ({ status }, { sessionID }) => {
      const tasks = engine.list({ parentSessionID: sessionID });
      const list = formatTaskList(tasks, (task) => status === undefined || task.status === status, clock.now());
      return list || "No background tasks found";
    },
  });
