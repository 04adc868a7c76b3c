import type { Options, Toolset } from "../options.ts";
import { errorMessage, type Log } from "../services/platform/log.ts";
import type { ToolNames } from "../services/text/notice-text.ts";
import type { Tool, ToolDeps } from "./define-tool.ts";
import { elishaNames, elishaToolset } from "./elisha/elisha-toolset.ts";
import { READ_TOOL, subagentsOf } from "./subtasks/subagents.ts";
import { subtasksNames, subtasksToolset } from "./subtasks/subtasks-toolset.ts";
import { tasksNames, tasksToolset } from "./tasks/tasks-toolset.ts";

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

/** Returns the names of the tools that only read tasks: an agent that calls one again and again waits for its tasks. */
export const readingTools = (toolsets: Toolset[], prefix: string): string[] => {
  const { output, list } = tasksNames(prefix);
  const all = { tasks: [output, list], elisha: [elishaNames.output], subtasks: [READ_TOOL] };
  return toolsets.flatMap((toolset) => all[toolset].flatMap((name) => name ?? []));
};

/** True for a tool whose output is JSON, to which nothing may be added: those of `elisha` and `subtasks`. */
export const answersInJson = (tool: string): boolean => /^(elisha_|create_subtask_)/.test(tool) || tool === READ_TOOL;

/** Creates the tools that do not depend on the configured agents: those of `tasks` and `elisha`. */
export const fixedTools = (toolsets: Toolset[], deps: ToolDeps): Record<string, Tool> => ({
  ...(toolsets.includes("tasks") ? tasksToolset(deps) : {}),
  ...(toolsets.includes("elisha") ? elishaToolset(deps) : {}),
});

/**
 * Creates the tools of all toolsets that the options name. Returns a function that returns them by name: those of `subtasks`
 * follow the configured agents, to which other plugins may add. Where they cannot be made, the others are there all the same.
 */
export const createPluginTools = (
  { toolsets, subtasks }: Pick<Options, "toolsets" | "subtasks">,
  deps: ToolDeps,
  configuredAgents: () => unknown,
  log: Log,
): (() => Record<string, Tool>) => {
  const fixed = fixedTools(toolsets, deps);

  const subtaskTools = (): Record<string, Tool> => {
    try {
      const { subagents, unreadable } = subagentsOf(configuredAgents());
      if (unreadable.length > 0)
        log.error("some agents have no subtask tool: their configuration cannot be read", { agents: unreadable });
      return subtasksToolset(deps, subagents, subtasks.onParentCancel);
    } catch (error) {
      log.error("the subtask tools could not be made", { reason: errorMessage(error) });
      return {};
    }
  };

  return () => (toolsets.includes("subtasks") ? { ...fixed, ...subtaskTools() } : fixed);
};
