import type { Fallback, ModelRef } from "../../task.ts";

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
