import type { LaunchInput } from "../../../machines/launch/events.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { tooManyTasks } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import type { Launched, LaunchPlan, LaunchRequest } from "../requests.ts";
import { planLaunch } from "./launch-plan.ts";
import { LAUNCH_STOPPED } from "./start-task.ts";

/** Returns where the new task works: in its caller's worktree, in one of its own, which is to be made, or in none. */
const placeFor = (
  { worktrees }: EngineContext,
  { agent, worktree: isWanted, job }: LaunchRequest,
  { callerDirectory }: LaunchPlan,
): Outcome<Pick<LaunchInput, "worktree" | "needsWorktree">> => {
  if (job) return { ok: true, value: { needsWorktree: true } };
  const worktree = worktrees.around(callerDirectory);
  if (worktree && isWanted) return fail("This session works in a worktree, and its tasks do too: leave worktree out.");
  if (worktree) return { ok: true, value: { worktree } };
  return { ok: true, value: isWanted || worktrees.isFor(agent) ? { needsWorktree: true } : {} };
};

/** Has the chart of a launch carry it out. */
const carryOut = (
  ctx: EngineContext,
  request: LaunchRequest,
  plan: LaunchPlan,
  cancelled: AbortSignal,
): Outcome<Launched> | Promise<Outcome<Launched>> => {
  const { runtime, clock, ids, launches, fleet } = ctx;
  const { parentSessionID, fork } = request;
  if (request.signal.aborted) return fail("The turn was aborted; nothing was launched.");
  const place = placeFor(ctx, request, plan);
  if (!place.ok) return place;
  const signal = AbortSignal.any([request.signal, cancelled]);
  if (signal.aborted) return fail(LAUNCH_STOPPED);
  const id = ids.message();
  const answered = launches.begin(id, { request, plan, signal, at: clock.now() });
  const cancel = () => runtime.dispatch({ type: "PREPARATION", id, event: { type: "CANCEL", at: clock.now() } });
  signal.addEventListener("abort", cancel, { once: true });
  const launch = {
    ...{ id, parentSessionID, ...place.value },
    ...(fork ? { isFork: true } : {}),
    ...(fleet ? { asksFleet: true } : {}),
  };
  runtime.dispatch({ type: "PREPARE", launch });
  // A signal made of others is kept for as long as somebody listens to it.
  return answered.finally(() => signal.removeEventListener("abort", cancel));
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
    return await carryOut(ctx, { ...request, agent: plan.value.agent }, plan.value, underWay.signal);
  });
};
