import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/text/tool-names.ts";
import type { ToolDeps } from "../tool-context.ts";
import { cancelTool } from "./cancel.ts";
import { outputTool } from "./output.ts";
import { taskTool } from "./task.ts";

const TASK = "elisha_task";
const OUTPUT = "elisha_task_output";

export const elishaNames: ToolNames = { launch: TASK, output: OUTPUT, list: undefined, resume: undefined };

/** The three tools of the toolset `elisha`. */
export const elishaToolset = (parts: ToolDeps): Record<string, ToolDefinition> => ({
  [TASK]: taskTool(parts),
  [OUTPUT]: outputTool(parts),
  elisha_task_cancel: cancelTool(parts),
});
