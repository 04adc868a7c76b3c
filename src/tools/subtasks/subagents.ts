// OpenCode reads the tools when all plugins have added their agents: only then is it known for whom there is a tool.
import { createHash } from "node:crypto";
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

/** Prefix of the tools that create subtasks. */
export const PREFIX = "create_subtask_";

/** Name of the tool that reads more of a subtask's answer. It lacks the prefix, since an agent may have any name. */
export const READ_TOOL = "read_subtask";

/** Characters left for the agent in a tool's name: model providers allow 64 in all. */
const MAX_CHARS = 64 - PREFIX.length;

/** Lengths of the hash that distinguishes names; the second is used if a name with the first is taken. */
const HASH_CHARS = [6, 24] as const;

/** Replaces the characters that providers do not allow in a tool's name, which are all but letters, digits, `_` and `-`. */
const sanitize = (agent: string): string => agent.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "");

const withHash = (agent: string, length: number): string => {
  const hash = createHash("sha256").update(agent).digest("hex").slice(0, length);
  return `${sanitize(agent).slice(0, MAX_CHARS - length - 1) || "agent"}_${hash}`;
};

const isSafe = (agent: string): boolean => /^[A-Za-z0-9_-]+$/.test(agent) && agent.length <= MAX_CHARS;

/**
 * Returns a tool name for each agent that every provider accepts: the agent's own name if that is acceptable, otherwise its
 * sanitized beginning and a hash of the whole name. The hash keeps similar names distinct, and an agent's tool name does not
 * depend on the other agents.
 */
export const subtaskNames = (agents: string[]): Map<string, string> => {
  const taken = new Set(agents.filter(isSafe));
  return new Map(
    agents.map((agent) => {
      const name = isSafe(agent)
        ? agent
        : (HASH_CHARS.map((length) => withHash(agent, length)).find((one) => !taken.has(one)) ?? "");
      taken.add(name);
      return [agent, PREFIX + name];
    }),
  );
};
