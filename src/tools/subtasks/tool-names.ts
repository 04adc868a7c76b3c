import { createHash } from "node:crypto";

/** What the names of these tools begin with. */
export const PREFIX = "create_subtask_";

/** Reads on in a subtask's answer. Not a name with that beginning: an agent may be called anything. */
export const READ = "read_subtask";

/** Characters of a tool's name at most, as model providers have it. */
const LONGEST = 64 - PREFIX.length;

/** Characters of the mark that tells two names apart; the longer one where a name with the shorter is taken. */
const MARKS = [6, 24] as const;

/** What providers allow in a tool's name: letters, digits, `_` and `-`. */
const safe = (agent: string): string => agent.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "");

const marked = (agent: string, length: number): string => {
  const mark = createHash("sha256").update(agent).digest("hex").slice(0, length);
  return `${safe(agent).slice(0, LONGEST - length - 1) || "agent"}_${mark}`;
};

const isSafe = (agent: string): boolean => /^[A-Za-z0-9_-]+$/.test(agent) && agent.length <= LONGEST;

/**
 * A tool name for each agent, safe for all providers: the agent's own name where it is; otherwise as much of it as is,
 * and a mark made of the whole. So names that come out the same are told apart, and an agent keeps its tool's name
 * whatever other agents there are.
 */
export const subtaskNames = (agents: string[]): Map<string, string> => {
  const taken = new Set(agents.filter(isSafe));
  return new Map(
    agents.map((agent) => {
      const name = isSafe(agent)
        ? agent
        : (MARKS.map((mark) => marked(agent, mark)).find((one) => !taken.has(one)) ?? "");
      taken.add(name);
      return [agent, PREFIX + name];
    }),
  );
};
