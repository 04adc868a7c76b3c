import type { ToolDefinition } from "@opencode-ai/plugin";
import type { Toolset } from "../options.ts";
import type { ToolNames } from "../services/text/tool-names.ts";
import { elishaNames, elishaToolset } from "./elisha/toolset.ts";
import { subtasksNames } from "./subtasks/toolset.ts";
import { tasksNames, tasksToolset } from "./tasks/toolset.ts";
import type { ToolDeps } from "./tool-context.ts";

/** What the tools are called, of which texts speak: each by the first toolset that has it. */
export const toolNames = (toolsets: Toolset[], prefix: string): ToolNames => {
  const all = { tasks: tasksNames(prefix), elisha: elishaNames, subtasks: subtasksNames };
  const first = <Use extends keyof ToolNames>(use: Use) =>
    toolsets.map((toolset) => all[toolset][use]).find((name) => name !== undefined);
  return {
    launch: first("launch") ?? "",
    output: first("output"),
    list: first("list"),
    resume: first("resume"),
  };
};

/** The tools that there are whatever agents the configuration has. */
export const fixedTools = (toolsets: Toolset[], parts: ToolDeps): Record<string, ToolDefinition> => ({
  ...(toolsets.includes("tasks") ? tasksToolset(parts) : {}),
  ...(toolsets.includes("elisha") ? elishaToolset(parts) : {}),
});
