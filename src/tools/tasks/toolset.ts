import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/text/tool-names.ts";
import type { ToolDeps } from "../define-tool.ts";
import { cancelTool } from "./cancel.ts";
import { clearTool } from "./clear.ts";
import { listTool } from "./list.ts";
import { outputTool } from "./output.ts";
import { taskTool } from "./task.ts";

/** The names under which texts mention these tools. */
export const tasksNames = (prefix: string): ToolNames => ({
  launch: `${prefix}_task`,
  output: `${prefix}_output`,
  list: `${prefix}_list`,
  resume: `${prefix}_task`,
});

/** Creates the five tools of the toolset `tasks`, under the configured prefix. Their definitions cost tokens in every model request. */
export const tasksToolset = (parts: ToolDeps): Record<string, ToolDefinition> => ({
  [`${parts.prefix}_task`]: taskTool(parts),
  [`${parts.prefix}_output`]: outputTool(parts),
  [`${parts.prefix}_list`]: listTool(parts),
  [`${parts.prefix}_cancel`]: cancelTool(parts),
  [`${parts.prefix}_clear`]: clearTool(parts),
});
