import { createHash } from "node:crypto";

const PREFIX = "create_subtask_";

/** Characters of a tool's name at most, as model providers have it. */
const LONGEST = 64;

/** Characters of the mark that tells two names apart. */
const MARK = 6;

const markOf = (agent: string): string => createHash("sha256").update(agent).digest("hex").slice(0, MARK);

/** What providers allow in a tool's name: letters, digits, `_` and `-`. */
const safe = (agent: string): string => agent.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^_+|_+$/g, "");

const marked = (agent: string): string => {
  const room = LONGEST - PREFIX.length - MARK - 1;
  return `${safe(agent).slice(0, room) || "agent"}_${markOf(agent)}`;
};

/** The name that an agent's tool has if no other agent wants it. */
const wished = (agent: string): string => {
  const name = safe(agent);
  return name !== "" && PREFIX.length + name.length <= LONGEST ? name : marked(agent);
};

/** The tools' names of some agents, and those that had to be told apart. */
export interface SubtaskNames {
  /** Tool name by agent. */
  names: Map<string, string>;
  /** Agents whose names come out the same when made safe; each group has at least two. */
  clashes: string[][];
}

/**
 * A tool name for each agent: safe for all providers, and the same whenever the same agents are there. Of agents whose
 * names come out the same, one that needed no change keeps it, and the others get a mark made of their own names.
 */
export const subtaskNames = (agents: string[]): SubtaskNames => {
  const groups = Map.groupBy(agents, wished);
  const names = new Map<string, string>();
  for (const [name, group] of groups) {
    for (const agent of group) names.set(agent, PREFIX + (group.length === 1 || agent === name ? name : marked(agent)));
  }
  return { names, clashes: [...groups.values()].filter((group) => group.length > 1) };
};
