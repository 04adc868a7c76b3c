/** An agent's entry in the configuration, as far as it matters here. */
export interface AgentEntry {
  mode?: "subagent" | "primary" | "all" | undefined;
  description?: string | undefined;
  hidden?: boolean | undefined;
  disable?: boolean | undefined;
}

/** An agent that subtasks can be given to. */
export interface Subagent {
  name: string;
  description: string | undefined;
}

/** The host's own agents (1.18.33). The configuration may change them, and does not have them otherwise. */
const BUILT_IN: Readonly<Record<string, AgentEntry>> = {
  general: { mode: "subagent", description: "For research and multi-step tasks" },
  explore: { mode: "subagent", description: "For searching a codebase, fast and read-only" },
  build: { mode: "primary" },
  plan: { mode: "primary" },
  compaction: { mode: "primary", hidden: true },
  title: { mode: "primary", hidden: true },
  summary: { mode: "primary", hidden: true },
};

/** What is left out of a configured agent is as the host has it: its own value, or an agent of all modes. */
const given = (entry: AgentEntry | undefined): AgentEntry =>
  Object.fromEntries(Object.entries(entry ?? {}).filter(([, value]) => value !== undefined && value !== null));

/** The subagents that a configuration comes to, the host's own included; hidden, primary and disabled ones are not. */
export const subagentsOf = (configured: Readonly<Record<string, AgentEntry | undefined>>): Subagent[] =>
  [...new Set([...Object.keys(BUILT_IN), ...Object.keys(configured)])].flatMap((name) => {
    const { mode = "all", description, hidden, disable } = { ...BUILT_IN[name], ...given(configured[name]) };
    return mode === "primary" || hidden || disable ? [] : [{ name, description }];
  });
