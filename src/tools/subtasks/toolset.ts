import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/text/tool-names.ts";
import type { ToolDeps } from "../define-tool.ts";
import { readTool } from "./read.ts";
import type { Subagent } from "./subagents.ts";
import { type OnParentCancel, subtaskTool } from "./subtask.ts";
import { PREFIX, READ_TOOL, subtaskNames } from "./tool-names.ts";

/** The names under which texts mention these tools. Each call returns its result, so there is no output, list or resume. */
export const subtasksNames: ToolNames = {
  launch: `${PREFIX}<agent>`,
  output: undefined,
  list: undefined,
  resume: undefined,
};

/** Creates the tools of the toolset `subtasks`: one for each subagent, and one that reads the rest of a truncated answer. */
export const subtasksToolset = (
  deps: ToolDeps,
  subagents: Subagent[],
  onParentCancel: OnParentCancel,
): Record<string, ToolDefinition> => {
  const names = subtaskNames(subagents.map(({ name }) => name));
  const tools = subagents.map((subagent) => [names.get(subagent.name), subtaskTool(deps, subagent, onParentCancel)]);
  return { ...Object.fromEntries(tools), [READ_TOOL]: readTool(deps) };
};
