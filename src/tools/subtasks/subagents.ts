import { z } from "zod";

/** An agent's entry in the configuration, as far as it matters here. */
const AgentEntry = z.object({
  mode: z.enum(["subagent", "primary", "all"]).nullish(),
  description: z.string().nullish(),
  hidden: z.boolean().nullish(),
  disable: z.boolean().nullish(),
});
type AgentEntry = z.infer<typeof AgentEntry>;

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

/**
 * The subagents that a configuration comes to, the host's own included; hidden, primary and disabled ones are not. What
 * is left out of an entry is as the host has it: its own value, or an agent of all modes. `odd` are those whose entries
 * cannot be read: other plugins may write anything there.
 */
export const subagentsOf = (configured: unknown): { subagents: Subagent[]; odd: string[] } => {
  const entries: Record<string, unknown> = z.record(z.string(), z.unknown()).safeParse(configured ?? {}).data ?? {};
  const odd: string[] = [];
  const subagents = [...new Set([...Object.keys(BUILT_IN), ...Object.keys(entries)])].flatMap((name) => {
    const own = BUILT_IN[name];
    const entry = AgentEntry.safeParse(entries[name] ?? (own && {}));
    if (!entry.success) {
      odd.push(name);
      return [];
    }
    const { mode, description, hidden, disable } = entry.data;
    const isLeftOut = (mode ?? own?.mode) === "primary" || (hidden ?? own?.hidden) || disable;
    return isLeftOut ? [] : [{ name, description: description ?? own?.description ?? undefined }];
  });
  return { subagents, odd };
};
