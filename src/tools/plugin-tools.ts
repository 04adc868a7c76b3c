import type { ToolDefinition } from "@opencode-ai/plugin";
import type { Options } from "../options.ts";
import { errorMessage, type Log } from "../services/platform/log.ts";
import type { ToolDeps } from "./define-tool.ts";
import { subagentsOf } from "./subtasks/subagents.ts";
import { subtasksToolset } from "./subtasks/toolset.ts";
import { fixedTools } from "./toolsets.ts";

/** The tools of all toolsets that the options name. */
export interface PluginTools {
  /** Takes what gives the configured agents. It is called for each `all`: other plugins may add agents later. */
  setAgents(agents: () => unknown): void;
  /** The tools by name. Those of `subtasks` follow the agents; where they cannot be made, the others are there all the same. */
  all(): Record<string, ToolDefinition>;
}

/** Creates the tools, as yet without configured agents. */
export const createPluginTools = (
  { toolsets, subtasks }: Pick<Options, "toolsets" | "subtasks">,
  deps: ToolDeps,
  log: Log,
): PluginTools => {
  const fixed = fixedTools(toolsets, deps);
  let configuredAgents: () => unknown = () => undefined;

  const subtaskTools = (): Record<string, ToolDefinition> => {
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

  return {
    setAgents: (agents) => {
      configuredAgents = agents;
    },
    all: () => (toolsets.includes("subtasks") ? { ...fixed, ...subtaskTools() } : fixed),
  };
};
