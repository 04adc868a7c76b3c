import type { Fallback, Gate, ModelRef } from "../../../task.ts";

/** Which commands check the answers of which agents. */
export interface GateRules extends Omit<Gate, "command"> {
  /** The command of each agent, by its name. */
  agents: Readonly<Record<string, string>>;
}

/** Returns the gate of a task of that agent, to spread into its facts. */
export const gateOf = (agent: string, { agents, tries, timeout }: GateRules): { gate?: Gate } => {
  const command = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  return command === undefined ? {} : { gate: { command, tries, timeout } };
};

/** Which models go on when a model is refused. */
export interface FallbackRules {
  /** The models of each agent, by its name, in the order in which they are asked. */
  agents: Readonly<Record<string, ModelRef[]>>;
  /** Milliseconds for which a provider may make a run wait before that. */
  after: number;
}

/** Returns what a task of that agent knows of other models, to spread into its facts. */
export const fallbackOf = (agent: string, { agents, after }: FallbackRules): { fallback?: Fallback } => {
  const models = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  return models ? { fallback: { models, after } } : {};
};
