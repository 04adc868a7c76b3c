import type { Gate } from "../../task.ts";

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
