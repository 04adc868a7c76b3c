import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { TaskStatus } from "../../task.ts";
import { defineTool, type ToolDeps } from "../define-tool.ts";
import { formatTaskList } from "./format.ts";

/** Creates `<prefix>_list`: lists the tasks that the calling session launched. */
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
