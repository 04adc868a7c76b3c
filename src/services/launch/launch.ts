import type { FleetOffer, Task, Wake, Worktree } from "../../task.ts";
import type { SessionDirectories } from "../host/directories.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Batches } from "../runtime/batches.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import { tooManyTasks } from "../text/limits.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { CreatedSession, SessionFactory } from "./create-session.ts";
import { type FallbackRules, fallbackOf } from "./fallback-rules.ts";
import { type GateRules, gateOf } from "./gate-rules.ts";
import { type LaunchPlan, type LaunchRequest, type LaunchRules, planLaunch } from "./launch-plan.ts";
import type { OrphanedLaunches } from "./orphaned-launches.ts";

/** The result of a launch. */
export interface Launched {
  task: Task;
  /** Why the host could not fork the conversation, so that the task has it as text; undefined if nothing went wrong. */
  forkRefusal: string | undefined;
  /** Why it is worked on here, though its agent is for other servers; undefined where it is for them, or its agent is not. */
  notOffered: string | undefined;
}

/** Dependencies of launches. */
export interface LaunchDeps extends LaunchRules {
  store: Store;
  runtime: Runtime;
  /** How many tasks a parent session may have, ended ones included. */
  tasksPerParent: number;
  progress: ProgressLog;
  batches: Pick<Batches, "beginLaunch">;
  fallback: FallbackRules;
  gate: GateRules;
  /** When ends wake the parent's agent, where a request does not say it. */
  wake: Wake;
  clock: Clock;
  ids: Ids;
  createSession: SessionFactory["create"];
  orphanedLaunches: Pick<OrphanedLaunches, "abandon">;
  /** Says how a task is offered to other servers; a failure says why it is worked on here, though its agent is for them. */
  offerFor(request: LaunchRequest, plan: LaunchPlan): Promise<Outcome<FleetOffer | undefined>>;
  worktrees: Pick<Worktrees, "isFor" | "around" | "make" | "assign" | "remove">;
  sessionDirectories: Pick<SessionDirectories, "enter">;
  /** True where OpenCode has started this plugin in that worktree, so that its events come here. */
  isServed(directory: string): boolean;
  get(taskId: string): Task | undefined;
}

/** Why a task cannot work in a worktree in which OpenCode starts no plugin of ours. */
const NOT_SERVED =
  "OpenCode starts no opencode-taskchart in a worktree of this project, so nobody would hear of the task's end; nothing was launched. Name the plugin in a configuration that git does not ignore, or in the user's own.";

/** The author of a task that no agent launched. */
const USER = "user";

/** Launches tasks. */
export interface Launches {
  /** Checks the request, creates a session and starts a task in it. Does not wait for the task to end. */
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  /** Cancels launches of a session that was stopped or deleted, while their own sessions are still being created. */
  cancelPending(parentSessionID: string): void;
  /** Cancels launches whose session is still being created. */
  stop(): void;
}

/** Creates the registry of pending launches. */
export const createLaunches = (deps: LaunchDeps): Launches => {
  const { store, runtime, progress, clock, ids, orphanedLaunches, tasksPerParent, worktrees, sessionDirectories } =
    deps;
  /** Launches whose worktree is being made, or whose session is being created. */
  const pendingLaunches = new Set<{ parentSessionID: string; abort: AbortController }>();

  /** How many launches of each session are under way: an agent may begin many at once. */
  const launching = new Map<string, number>();

  const launch = async (request: LaunchRequest): Promise<Outcome<Launched>> => {
    const { parentSessionID, order } = request;
    const others = () => launching.get(parentSessionID) ?? 0;
    // Before anything else, since a person may be asked for a permission. Tasks of another server are all of one session.
    if (!order && store.countOf(parentSessionID) + others() >= tasksPerParent)
      return fail(tooManyTasks(tasksPerParent));
    launching.set(parentSessionID, others() + 1);
    try {
      return await launchWithin(request);
    } finally {
      if (others() > 1) launching.set(parentSessionID, others() - 1);
      else launching.delete(parentSessionID);
    }
  };

  /** Launches a task of a session that may have one more. */
  const launchWithin = async (request: LaunchRequest): Promise<Outcome<Launched>> => {
    const plan = await planLaunch(deps, request);
    if (!plan.ok) return plan;
    const endLaunch = deps.batches.beginLaunch(request.parentSessionID, plan.value.batchId);
    return carryOut({ ...request, agent: plan.value.agent }, plan.value).finally(endLaunch);
  };

  /** The worktree that a new task works in: that of its caller, one of its own, or none. */
  const worktreeFor = async (
    { agent, directory: project, worktree: isWanted, order }: LaunchRequest,
    { callerDirectory }: LaunchPlan,
    signal: AbortSignal,
  ): Promise<Outcome<Worktree | undefined>> => {
    if (order) return worktrees.make({ directory: project, project, commit: order.commit, signal });
    const shared = worktrees.around(callerDirectory);
    if (shared && isWanted) return fail("This session works in a worktree, and its tasks do too: leave worktree out.");
    if (shared || !(isWanted || worktrees.isFor(agent))) return { ok: true, value: shared };
    return worktrees.make({ directory: callerDirectory, project, signal });
  };

  const carryOut = async (request: LaunchRequest, plan: LaunchPlan): Promise<Outcome<Launched>> => {
    if (request.signal.aborted) return fail("The turn was aborted; nothing was launched.");
    const pending = { parentSessionID: request.parentSessionID, abort: new AbortController() };
    const signal = AbortSignal.any([request.signal, pending.abort.signal]);
    pendingLaunches.add(pending);
    const placed = await worktreeFor(request, plan, signal);
    if (!placed.ok) {
      pendingLaunches.delete(pending);
      return placed;
    }
    const worktree = placed.value;
    const offer = await deps.offerFor(request, plan);
    const created = await createSession(request, plan, worktree, signal);
    pendingLaunches.delete(pending);
    const launched = created.ok ? begin(request, plan, { worktree, offer }, created.value) : created;
    if (!launched.ok && worktree && !worktree.isShared) await worktrees.remove(worktree.id);
    return launched;
  };

  /** Creates the session of a task, as long as the launch is wanted. */
  const createSession = async (
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
    const created = await deps.createSession(request, session, () => !signal.aborted);
    const isServed = worktree === undefined || deps.isServed(worktree.directory);
    if (!signal.aborted && (isServed || !created.ok)) return created;
    if (created.ok) await orphanedLaunches.abandon(created.value.launch, created.value.id);
    return signal.aborted
      ? fail("The calling session or OpenCode was stopped in the meantime; nothing was launched.")
      : fail(NOT_SERVED);
  };

  /** Starts the task in its session. */
  const begin = (
    request: LaunchRequest,
    plan: LaunchPlan,
    { worktree, offer }: { worktree: Worktree | undefined; offer: Outcome<FleetOffer | undefined> },
    created: CreatedSession,
  ): Outcome<Launched> => {
    const { description, batchId, model, schema, parentTask } = plan;
    const { wake = deps.wake } = request;
    const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory, fork, priority, order } = request;
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
          ...(order ? { order: order.run } : {}),
          ...fallbackOf(agent, deps.fallback),
          ...gateOf(agent, deps.gate),
          ...(schema ? { schema } : {}),
        },
        run: { index: 0, messageID, partID: ids.parts(1)[0] ?? "", prompt, startedAt: at },
      },
    });
    store.endLaunch(messageID);
    const task = deps.get(sessionID);
    return task
      ? { ok: true, value: { task, forkRefusal, notOffered: offer.ok ? undefined : offer.reason } }
      : fail("The task was launched, but it has already ended and been removed.");
  };

  return {
    launch,
    cancelPending: (parentSessionID) => {
      for (const pending of pendingLaunches) if (pending.parentSessionID === parentSessionID) pending.abort.abort();
    },
    stop: () => {
      for (const pending of pendingLaunches) pending.abort.abort();
    },
  };
};
