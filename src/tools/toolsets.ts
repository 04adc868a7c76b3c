import type { ToolDefinition } from "@opencode-ai/plugin";
import type { Toolset } from "../options.ts";
import type { ToolNames } from "../services/text/tool-names.ts";
import type { ToolDeps } from "./define-tool.ts";
import { elishaNames, elishaToolset } from "./elisha/toolset.ts";
import { subtasksNames } from "./subtasks/toolset.ts";
import { tasksNames, tasksToolset } from "./tasks/toolset.ts";

/** Returns the tool names that texts mention: for each use the tool of the first toolset that has one. */
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

/** Creates the tools that do not depend on the configured agents: those of `tasks` and `elisha`. */
export const fixedTools = (toolsets: Toolset[], deps: ToolDeps): Record<string, ToolDefinition> => ({
  ...(toolsets.includes("tasks") ? tasksToolset(deps) : {}),
  ...(toolsets.includes("elisha") ? elishaToolset(deps) : {}),
});
