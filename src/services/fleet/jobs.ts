import type { TaskContext } from "../../machines/task/events.ts";
import type { FleetOffer, FleetServer, Task, TaskFacts } from "../../task.ts";
import type { LaunchPlan, LaunchRequest } from "../engine/requests.ts";
import { errorMessage } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { nameOf, own, quoteLine } from "../text/own-text.ts";
import { headOf, isPublished, requireCommit } from "../worktrees/git/commit.ts";
import { treeAt } from "../worktrees/git/working-tree.ts";
import type { Broker, BrokerFailure } from "./broker.ts";
import type { Membership, OriginEngine } from "./member.ts";
import { type Job, limitKey, poolOfServer, RESUME_PRIORITY, WIRE_VERSION } from "./wire-messages.ts";

/*
 * Which runs other servers may work on, and what they are given: launches of the agents whose tasks are offered, and later runs of
 * tasks whose conversation another server has.
 */

/** Returns the commit that is checked out in a directory, where others can fetch it. @throws GitError */
export const publishedCommit = async (directory: string): Promise<Outcome<string>> => {
  const tree = await treeAt(directory);
  const commit = await headOf(tree);
  if (commit === undefined) return fail("there is no commit yet");
  if (await isPublished(tree, commit)) return { ok: true, value: commit };
  return fail("the commit that is checked out is on no branch of a remote, so that no other server can have it");
};

/** Returns why a commit cannot be had in a directory, where it is fetched if need be; undefined where it can. */
export const commitObstacle = async (directory: string, commit: string): Promise<string | undefined> => {
  try {
    await requireCommit(await treeAt(directory), commit);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
};

const NOT_OFFERED: Outcome<undefined> = { ok: true, value: undefined };

/**
 * Returns how a task is offered to other servers; a failure says why it runs here, though its agent is for them. The answers of
 * the agents in `gated` must pass a gate, a command that runs here.
 */
export const offerFor = async (
  { pool, offer, attempts, patience, commits }: Membership,
  gated: Readonly<Record<string, unknown>>,
  { agent, fork, job, directory }: LaunchRequest,
  { callerDirectory }: LaunchPlan,
): Promise<Outcome<FleetOffer | undefined>> => {
  if (job || !offer.includes(agent)) return NOT_OFFERED;
  if (fork) return fail("it begins with this conversation, which stays here");
  if (gated[agent] !== undefined) return fail("its answers must pass a gate, which runs here");
  if (callerDirectory !== directory) return fail("this session works in a worktree, whose files are only here");
  try {
    const commit = await commits.published(callerDirectory);
    return commit.ok ? { ok: true, value: { pool, commit: commit.value, attempts, patience } } : commit;
  } catch (error) {
    return fail(own`git says: ${quoteLine(errorMessage(error))}`);
  }
};

/** Maps a task's priority, which is any number, to one of the fleet's three. */
const fleetPriority = (priority: number): number => (priority > 0 ? 0 : priority === 0 ? 1 : 2);

/** Returns how deep a task is among tasks that launch tasks, counted from where the first of them was launched. */
const depthOf = ({ store, ancestors }: OriginEngine, { parentSessionID }: TaskFacts): number => {
  const above = ancestors(parentSessionID).flatMap((id) => store.get(id)?.task ?? []);
  return above.length + (above.at(-1)?.job?.depth ?? 1);
};

/** Returns the newest run of a task as a job for other servers; undefined for a task that was not offered to them. */
export const jobFor = async (
  { broker, server, project, clock }: Membership,
  engine: OriginEngine,
  { facts, run, remote }: TaskContext,
): Promise<Job | BrokerFailure | undefined> => {
  const { fleet } = facts;
  if (!fleet) return undefined;
  const parent = await engine.host.session(facts.parentSessionID);
  if (!parent.ok) return { is: "unavailable", message: parent.failure.message };
  const limits = await broker.limits();
  if (limits.is !== "read") return limits;
  const model = limitKey(facts.model);
  const key = model in limits.limits ? model : "";
  return {
    ...{ v: WIRE_VERSION, at: clock.now(), origin: server.id, task: facts.sessionID, run: run.index },
    ...{ commit: fleet.commit, key, attempts: fleet.attempts, project },
    ...(remote && run.index > 0
      ? { pool: poolOfServer(fleet.pool, remote.server.id), priority: RESUME_PRIORITY }
      : { pool: fleet.pool, priority: fleetPriority(facts.priority) }),
    agent: facts.agent,
    ...(facts.model ? { model: facts.model } : {}),
    description: facts.description,
    prompt: run.prompt,
    ...(run.isRetry ? { isRetry: true as const } : {}),
    ...(facts.schema ? { schema: facts.schema } : {}),
    denied: parent.value.permission.flatMap(({ action, permission, pattern }) =>
      action === "deny" ? { permission, pattern } : [],
    ),
    depth: depthOf(engine, facts),
  };
};

/**
 * Asks the server that has a task's conversation whether it can go on with it: nobody else can. A failure says why it cannot.
 * @param origin the id of the server that launched the task
 * @param done in which way it is to go on
 */
export const mayGoOn = async (
  broker: Pick<Broker, "ask">,
  origin: string,
  { sessionID, fleet }: Pick<Task, "sessionID" | "fleet">,
  { id, label }: FleetServer,
  done: "resumed" | "retried",
): Promise<Outcome<void>> => {
  const task = own`Task ${nameOf(sessionID)}`;
  const server = own`server ${quoteLine(label)}, where it ran`;
  // Only a task that was offered to others has been with one.
  const pool = fleet?.pool ?? "";
  const isRetry = done === "retried" ? { isRetry: true as const } : {};
  const question = { v: WIRE_VERSION, type: "mayResume", pool, origin, task: sessionID, ...isRetry } as const;
  const asked = await broker.ask(id, question);
  switch (asked.is) {
    case "answered": {
      const { obstacle } = asked.answer;
      if (obstacle === undefined) return { ok: true, value: undefined };
      return fail(own`${task} cannot be ${done}: ${server}, says ${quoteLine(obstacle)}. Launch a new task.`);
    }
    case "silent":
      return fail(own`${task} cannot be ${done} now: ${server}, does not answer. Try again when it is back.`);
    default:
      return fail(own`${task} cannot be ${done} now: ${quoteLine(asked.message)}. Try again later.`);
  }
};
