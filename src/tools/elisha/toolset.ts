import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/text/tool-names.ts";
import type { ToolDeps } from "../define-tool.ts";
import { cancelTool } from "./cancel.ts";
import { outputTool } from "./output.ts";
import { taskTool } from "./task.ts";

const TASK = "elisha_task";
const OUTPUT = "elisha_task_output";

/** The names under which texts mention these tools. The toolset has no list and no resume. */
export const elishaNames: ToolNames = { launch: TASK, output: OUTPUT, list: undefined, resume: undefined };

/**
 * Creates the tools of the toolset `elisha`, the JSON toolset: every answer is a JSON object (`TaskResult`), and a launch
 * waits for the result unless `async` is true. The names of the toolset and its tools come from the specification that it
 * implements, the task domain of Elisha, a multi-agent plugin for OpenCode; the option `prefix` does not apply to them.
 */
export const elishaToolset = (deps: ToolDeps): Record<string, ToolDefinition> => ({
  [TASK]: taskTool(deps),
  [OUTPUT]: outputTool(deps),
  elisha_task_cancel: cancelTool(deps),
});
