import type { ModelRef, Task } from "../task.ts";
import type { Host, HostAgent, HostSession, PermissionRule } from "./host.ts";
import { type Outcome, refuse } from "./outcome.ts";

/** What a caller asks to have done, and who asks. */
export interface LaunchRequest {
  description: string;
  prompt: string;
  agent: string;
  /** Joins the tasks of this batch; without it, those launched by the same assistant message. */
  batchId: string | undefined;
  parentSessionID: string;
  parentMessageID: string;
  parentAgent: string;
  directory: string;
  /** Higher ones are to get a slot first. */
  priority: number;
  /** Begin with the caller's conversation, up to the message that launches. */
  fork: boolean;
  /** Aborted when the caller's turn is: nothing is launched any more. */
  signal: AbortSignal;
}

/** Everything that is decided before a session is made. */
export interface LaunchPlan {
  description: string;
  batchId: string;
  model: ModelRef | undefined;
  permission: PermissionRule[];
  parentTask: Task | undefined;
}

/** What a launch is checked with. */
export interface LaunchRules {
  host: Host;
  /** How many tasks deep a task may be. */
  maxDepth: number;
  /** The tasks that a session works for, nearest first. */
  tasksAbove(sessionID: string): Task[];
  /** Learns of all sessions above this one. */
  learnAbove(sessionID: string): Promise<void>;
}

/** An agent that names a model keeps it; else the child works with its parent's. */
const modelFor = (agent: HostAgent, parent: HostSession): ModelRef | undefined => agent.model ?? parent.model;

/** What the parent session may not do, its child may not do either. */
const inherited = ({ permission }: HostSession): PermissionRule[] =>
  permission.filter((rule) => rule.action === "deny" || rule.permission === "external_directory");

/** Checks a launch against the host and the store. Makes nothing; what is wrong comes back in words. */
export const planLaunch = async (
  { host, maxDepth, tasksAbove, learnAbove }: LaunchRules,
  request: LaunchRequest,
): Promise<Outcome<LaunchPlan>> => {
  const description = request.description.replace(/\s+/g, " ").trim();
  if (description === "") return refuse("The task is not described: say in a few words what it is.");
  if (request.prompt.trim() === "") return refuse("The prompt is empty: say what the agent shall do.");
  const [agents, parent] = await Promise.all([host.agents(), host.session(request.parentSessionID)]);
  if (!agents.ok)
    return refuse(`OpenCode did not say which agents there are: ${agents.failure.message}. Try again.`, "host");
  if (!parent.ok)
    return refuse(`OpenCode did not find the calling session: ${parent.failure.message}. Try again.`, "host");
  if (parent.value.parentID) await learnAbove(request.parentSessionID);
  const above = tasksAbove(request.parentSessionID);
  const depth = above.length + 1;
  if (depth > maxDepth) {
    return refuse(
      `This task would run ${depth} levels deep, and ${maxDepth} is the limit (option "maxDepth"). Do the work here instead.`,
    );
  }
  const known = agents.value.filter(({ hidden }) => !hidden);
  const agent = known.find(({ name }) => name === request.agent);
  if (!agent) {
    const fault = request.agent === "" ? "Name the agent." : `There is no agent "${request.agent}".`;
    return refuse(`${fault} Agents: ${known.map(({ name }) => name).join(", ")}.`, "agent");
  }
  return {
    ok: true,
    value: {
      description,
      batchId: request.batchId ?? request.parentMessageID.replace(/^msg_/, "batch_"),
      model: modelFor(agent, parent.value),
      permission: inherited(parent.value),
      parentTask: above[0],
    },
  };
};
