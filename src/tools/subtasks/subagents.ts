// ADR-095 in docs/decisions.md
import { z } from "zod";

/** The fields of an agent's entry in the configuration that matter here. */
const AgentEntry = z.object({
  mode: z.enum(["subagent", "primary", "all"]).nullish(),
  description: z.string().nullish(),
  hidden: z.boolean().nullish(),
  disable: z.boolean().nullish(),
});
type AgentEntry = z.infer<typeof AgentEntry>;

/** An agent that can be given subtasks. */
export interface Subagent {
  name: string;
  description: string | undefined;
}

/** The host's built-in agents (1.18.33). The configuration contains them only if it changes them. */
const BUILT_IN: Readonly<Record<string, AgentEntry>> = {
  general: { mode: "subagent", description: "For research and multi-step tasks" },
  explore: { mode: "subagent", description: "For searching a codebase, fast and read-only" },
  build: { mode: "primary" },
  plan: { mode: "primary" },
  compaction: { mode: "primary", hidden: true },
  title: { mode: "primary", hidden: true },
  summary: { mode: "primary", hidden: true },
};

/**
 * Returns the subagents of a configuration: its own and the host's built-in ones, without hidden, primary and disabled
 * ones. Missing fields have the host's defaults: those of the built-in agent, otherwise mode `all`. `unreadable` are the
 * names of agents whose entries are invalid: other plugins may write anything there.
 */
export const subagentsOf = (configured: unknown): { subagents: Subagent[]; unreadable: string[] } => {
  const entries: Record<string, unknown> = z.record(z.string(), z.unknown()).safeParse(configured ?? {}).data ?? {};
  const unreadable: string[] = [];
  const subagents = [...new Set([...Object.keys(BUILT_IN), ...Object.keys(entries)])].flatMap((name) => {
    const builtIn = BUILT_IN[name];
    const entry = AgentEntry.safeParse(entries[name] ?? (builtIn && {}));
    if (!entry.success) {
      unreadable.push(name);
      return [];
    }
    const { mode, description, hidden, disable } = entry.data;
    const isExcluded = (mode ?? builtIn?.mode) === "primary" || (hidden ?? builtIn?.hidden) || disable;
    return isExcluded ? [] : [{ name, description: description ?? builtIn?.description ?? undefined }];
  });
  return { subagents, unreadable };
};
