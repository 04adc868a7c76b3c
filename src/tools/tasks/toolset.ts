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
export const tasksToolset = (deps: ToolDeps): Record<string, ToolDefinition> => ({
  [`${deps.prefix}_task`]: taskTool(deps),
  [`${deps.prefix}_output`]: outputTool(deps),
  [`${deps.prefix}_list`]: listTool(deps),
  [`${deps.prefix}_cancel`]: cancelTool(deps),
  [`${deps.prefix}_clear`]: clearTool(deps),
});
