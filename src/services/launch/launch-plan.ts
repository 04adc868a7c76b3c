import type { ModelRef, Task } from "../../task.ts";
import type { Host, HostAgent, HostSession, PermissionRule } from "../host/host.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { join, nameOf, own, quoteLine } from "../text/own-text.ts";
import { shortDescription } from "../text/single-line.ts";

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
  /** Asks, maybe a person, whether the caller may use the agent; rejects in words when it may not. */
  permit(): Promise<void>;
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
  ancestorTasks(sessionID: string): Task[];
  /** Learns of all sessions above this one. */
  loadAncestors(sessionID: string): Promise<void>;
}

/** An agent that names a model keeps it; else the child works with its parent's. */
const modelFor = (agent: HostAgent, parent: HostSession): ModelRef | undefined => agent.model ?? parent.model;

/** What the parent session may not do, its child may not do either. */
const inheritedRules = ({ permission }: HostSession): PermissionRule[] =>
  permission.filter((rule) => rule.action === "deny" || rule.permission === "external_directory");

/** A batch is looked up by what it was called, so a name that cannot be shown is refused, not changed. */
const BATCH_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u;

/** The agent of that name, unless it is one of the host's own helpers. */
const findAgent = async (host: Host, wanted: string): Promise<Outcome<HostAgent>> => {
  const agents = await host.agents();
  if (!agents.ok)
    return fail(
      own`OpenCode did not say which agents there are: ${quoteLine(agents.failure.message)}. Try again.`,
      "host",
    );
  const known = agents.value.filter(({ hidden }) => !hidden);
  const agent = known.find(({ name }) => name === wanted);
  if (agent) return { ok: true, value: agent };
  const fault = wanted === "" ? own`Name the agent.` : own`There is no agent ${quoteLine(wanted)}.`;
  const names = join(
    known.map(({ name }) => nameOf(name)),
    ", ",
  );
  return fail(own`${fault} Agents: ${names}.`, "agent");
};

/**
 * Checks a launch against the host and the store. Makes nothing; what is wrong comes back in words. Nobody is asked to
 * permit what is not possible; a person may take long, so how the parent stands is looked at after that.
 * @throws what `permit` does
 */
export const planLaunch = async (
  { host, maxDepth, ancestorTasks, loadAncestors }: LaunchRules,
  request: LaunchRequest,
): Promise<Outcome<LaunchPlan>> => {
  const description = shortDescription(request.description);
  if (description === "") return fail("The task is not described: say in a few words what it is.");
  if (request.prompt.trim() === "") return fail("The prompt is empty: say what the agent shall do.");
  if (request.batchId !== undefined && !BATCH_NAME.test(request.batchId)) {
    return fail(
      own`${quoteLine(request.batchId, 100)} cannot be a batch_id: give one line of at most 100 characters without control characters, or leave it out.`,
    );
  }
  const agent = await findAgent(host, request.agent);
  if (!agent.ok) return agent;
  await request.permit();
  const parent = await host.session(request.parentSessionID);
  if (!parent.ok)
    return fail(
      own`OpenCode did not find the calling session: ${quoteLine(parent.failure.message)}. Try again.`,
      "host",
    );
  if (parent.value.parentID) await loadAncestors(request.parentSessionID);
  const above = ancestorTasks(request.parentSessionID);
  const depth = above.length + 1;
  if (depth > maxDepth) {
    return fail(
      `This task would run ${depth} levels deep, and ${maxDepth} is the limit (option "maxDepth"). Do the work here instead.`,
    );
  }
  return {
    ok: true,
    value: {
      description,
      batchId: request.batchId ?? request.parentMessageID.replace(/^msg_/, "batch_"),
      model: modelFor(agent.value, parent.value),
      permission: inheritedRules(parent.value),
      parentTask: above[0],
    },
  };
};
