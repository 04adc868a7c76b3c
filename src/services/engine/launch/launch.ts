import type { FleetOffer, TaskFacts, Worktree } from "../../../task.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { tooManyTasks } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { getTask } from "../operations/read-task.ts";
import type { Launched, LaunchPlan, LaunchRequest } from "../requests.ts";
import { type CreatedSession, createTaskSession } from "./create-session.ts";
import { planLaunch } from "./launch-plan.ts";

/** Why a task cannot work in a worktree in which OpenCode starts no plugin of ours. */
const NOT_SERVED =
  "OpenCode starts no opencode-taskchart in a worktree of this project, so nobody would hear of the task's end; nothing was launched. Name the plugin in a configuration that git does not ignore, or in the user's own.";

/** The author of a task that no agent launched. */
const USER = "user";

/** The worktree that a new task works in: that of its caller, one of its own, or none. */
const worktreeFor = async (
  { worktrees }: EngineContext,
  { agent, directory: project, worktree: isWanted, job }: LaunchRequest,
  { callerDirectory }: LaunchPlan,
  signal: AbortSignal,
): Promise<Outcome<Worktree | undefined>> => {
  if (job) return worktrees.make({ directory: project, project, commit: job.commit, signal });
  const shared = worktrees.around(callerDirectory);
  if (shared && isWanted) return fail("This session works in a worktree, and its tasks do too: leave worktree out.");
  if (shared || !(isWanted || worktrees.isFor(agent))) return { ok: true, value: shared };
  return worktrees.make({ directory: callerDirectory, project, signal });
};

/** Creates the session of a task, as long as the launch is wanted. */
const sessionFor = async (
  ctx: EngineContext,
  request: LaunchRequest,
  { description, model, permission }: LaunchPlan,
  worktree: Worktree | undefined,
  signal: AbortSignal,
): Promise<Outcome<CreatedSession>> => {
  const { agent, parentSessionID } = request;
  const session = {
    parentID: parentSessionID,
    title: `${description} (@${agent} subagent)`,
    agent,
    model,
    permission,
    ...(worktree ? { directory: worktree.directory } : {}),
  };
  const created = await createTaskSession(ctx, request, session, () => !signal.aborted);
  const isServed = worktree === undefined || ctx.isServed(worktree.directory);
  if (!signal.aborted && (isServed || !created.ok)) return created;
  if (created.ok) await ctx.orphanedLaunches.abandon(created.value.launch, created.value.id);
  return signal.aborted
    ? fail("The calling session or OpenCode was stopped in the meantime; nothing was launched.")
    : fail(NOT_SERVED);
};

/** Returns what the options say of tasks of that agent: its gate, and other models. */
const rulesOf = (agent: string, { gate, fallback }: EngineContext["options"]): Pick<TaskFacts, "gate" | "fallback"> => {
  const { agents: commands, tries, timeout } = gate;
  const command = Object.hasOwn(commands, agent) ? commands[agent] : undefined;
  const models = Object.hasOwn(fallback.agents, agent) ? fallback.agents[agent] : undefined;
  return {
    ...(models ? { fallback: { models, after: fallback.after } } : {}),
    ...(command === undefined ? {} : { gate: { command, tries, timeout } }),
  };
};

/** Starts the task in its session. */
const begin = (
  ctx: EngineContext,
  request: LaunchRequest,
  plan: LaunchPlan,
  { worktree, offer }: { worktree: Worktree | undefined; offer: Outcome<FleetOffer | undefined> },
  created: CreatedSession,
): Outcome<Launched> => {
  const { description, batchId, model, schema, parentTask } = plan;
  const { store, runtime, progress, clock, ids, worktrees, sessionDirectories, options } = ctx;
  const { wake = options.wake } = request;
  const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory, fork, priority, job } = request;
  const { id: sessionID, forkRefusal } = created;
  if (worktree) {
    sessionDirectories.enter(sessionID, worktree.directory);
    worktrees.assign({ sessionID, parentSessionID, worktree });
  }
  const { messageID } = created.launch;
  const at = clock.now();
  progress.begin(sessionID, at);
  runtime.dispatch({
    type: "LAUNCH",
    at,
    task: {
      facts: {
        sessionID,
        parentSessionID,
        parentMessageID,
        parentAgent,
        ...(parentTask ? { parentTaskId: parentTask.sessionID } : {}),
        author: parentAgent || USER,
        directory,
        description,
        prompt,
        agent,
        model,
        startedAt: new Date(at).toISOString(),
        batchId,
        isForked: fork,
        priority,
        ...(wake === "all" ? { wake } : {}),
        ...(worktree ? { worktree } : {}),
        ...(offer.ok && offer.value ? { fleet: offer.value } : {}),
        ...(job ? { job: job.run } : {}),
        ...rulesOf(agent, options),
        ...(schema ? { schema } : {}),
      },
      run: { index: 0, messageID, partID: ids.parts(1)[0] ?? "", prompt, startedAt: at },
    },
  });
  store.endLaunch(messageID);
  const task = getTask(ctx, sessionID);
  return task
    ? { ok: true, value: { task, forkRefusal, notOffered: offer.ok ? undefined : offer.reason } }
    : fail("The task was launched, but it has already ended and been removed.");
};

/** Makes the worktree and the session of a task, and starts it there. */
const carryOut = async (
  ctx: EngineContext,
  request: LaunchRequest,
  plan: LaunchPlan,
  cancelled: AbortSignal,
): Promise<Outcome<Launched>> => {
  if (request.signal.aborted) return fail("The turn was aborted; nothing was launched.");
  const signal = AbortSignal.any([request.signal, cancelled]);
  const placed = await worktreeFor(ctx, request, plan, signal);
  if (!placed.ok) return placed;
  const worktree = placed.value;
  const offer: Outcome<FleetOffer | undefined> = ctx.fleet
    ? await ctx.fleet.offerFor(ctx.options.gate.agents, request, plan)
    : { ok: true, value: undefined };
  const created = await sessionFor(ctx, request, plan, worktree, signal);
  const launched = created.ok ? begin(ctx, request, plan, { worktree, offer }, created.value) : created;
  if (!launched.ok && worktree && !worktree.isShared) await ctx.worktrees.remove(worktree.id);
  return launched;
};

/**
 * Checks the request, creates the child session and starts a task in it; does not wait for the result.
 * @throws whatever `permit` throws
 */
export const launch = async (ctx: EngineContext, request: LaunchRequest): Promise<Outcome<Launched>> => {
  const { store, launches, options } = ctx;
  const { parentSessionID, job } = request;
  const { tasksPerParent } = options.budget;
  // Before anything else, since a person may be asked for a permission. Tasks of another server are all of one session.
  if (!job && store.countOf(parentSessionID) + launches.of(parentSessionID).length >= tasksPerParent)
    return fail(tooManyTasks(tasksPerParent));
  return launches.during(parentSessionID, async (underWay) => {
    const plan = await planLaunch(ctx, request);
    if (!plan.ok) return plan;
    underWay.batchId = plan.value.batchId;
    return carryOut(ctx, { ...request, agent: plan.value.agent }, plan.value, underWay.signal);
  });
};
