import { createHash } from "node:crypto";

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
