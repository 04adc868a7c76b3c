import type { ToolDefinition } from "@opencode-ai/plugin";
import type { ToolNames } from "../../services/tool-names.ts";
import type { ToolParts } from "../context.ts";
import { subtaskNames } from "./names.ts";
import type { Subagent } from "./subagents.ts";
import { type OnParentCancel, subtaskTool } from "./subtask.ts";

export const subtasksNames: ToolNames = {
  launch: "create_subtask_<agent>",
  output: undefined,
  list: undefined,
  resume: undefined,
};

/** One tool for each subagent; and in words, which of them had to be told apart. */
export const subtasksToolset = (
  parts: ToolParts,
  subagents: Subagent[],
  onParentCancel: OnParentCancel,
): { tools: Record<string, ToolDefinition>; clashes: string[] } => {
  const { names, clashes } = subtaskNames(subagents.map(({ name }) => name));
  const named = subagents.flatMap((subagent) => {
    const name = names.get(subagent.name);
    return name === undefined ? [] : [[name, subtaskTool(parts, subagent, onParentCancel)] as const];
  });
  const told = (agents: string[]) => agents.map((agent) => `"${agent}" is ${names.get(agent)}`).join(", ");
  return { tools: Object.fromEntries(named), clashes: clashes.map((agents) => `tool names clash: ${told(agents)}`) };
};
