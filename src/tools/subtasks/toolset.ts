import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/text/tool-names.ts";
import type { ToolDeps } from "../tool-context.ts";
import { readTool } from "./read.ts";
import type { Subagent } from "./subagents.ts";
import { type OnParentCancel, subtaskTool } from "./subtask.ts";
import { PREFIX, READ, subtaskNames } from "./tool-names.ts";

export const subtasksNames: ToolNames = {
  launch: `${PREFIX}<agent>`,
  output: undefined,
  list: undefined,
  resume: undefined,
};

/** One tool for each subagent, and one that reads what was cut of their answers. */
export const subtasksToolset = (
  parts: ToolDeps,
  subagents: Subagent[],
  onParentCancel: OnParentCancel,
): Record<string, ToolDefinition> => {
  const names = subtaskNames(subagents.map(({ name }) => name));
  const tools = subagents.map((subagent) => [names.get(subagent.name), subtaskTool(parts, subagent, onParentCancel)]);
  return { ...Object.fromEntries(tools), [READ]: readTool(parts) };
};
