import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/text/tool-names.ts";
import type { ToolDeps } from "../tool-context.ts";
import { cancelTool } from "./cancel.ts";
import { clearTool } from "./clear.ts";
import { listTool } from "./list.ts";
import { outputTool } from "./output.ts";
import { taskTool } from "./task.ts";

export const tasksNames = (prefix: string): ToolNames => ({
  launch: `${prefix}_task`,
  output: `${prefix}_output`,
  list: `${prefix}_list`,
  resume: `${prefix}_task`,
});

/** The five tools of the toolset `tasks`, under the prefix in use. Their definitions are paid for on every model request. */
export const tasksToolset = (parts: ToolDeps): Record<string, ToolDefinition> => ({
  [`${parts.prefix}_task`]: taskTool(parts),
  [`${parts.prefix}_output`]: outputTool(parts),
  [`${parts.prefix}_list`]: listTool(parts),
  [`${parts.prefix}_cancel`]: cancelTool(parts),
  [`${parts.prefix}_clear`]: clearTool(parts),
});
