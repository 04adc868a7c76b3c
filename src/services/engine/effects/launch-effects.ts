import type { LaunchEvent } from "../../../machines/launch/events.ts";
import type { Effect } from "../../../machines/supervisor/events.ts";
import type { EffectHandlers, EffectOf } from "../../runtime/effects.ts";
import type { EngineContext } from "../context.ts";
import { createSession, cutCopy, readConversation, storePreamble } from "../launch/create-session.ts";
import { findSession, removeSessions } from "../launch/pending-launches.ts";
import { startTask, toOutcome } from "../launch/start-task.ts";

const fault = (_: unknown, at: number, reason: string): LaunchEvent => ({ type: "FAULT", at, reason });

/** Creates the handlers of the effects that a launch asks for. */
export const createLaunchEffects = (
  ctx: EngineContext,
): EffectHandlers<Extract<Effect, { launchId: string }>["type"]> => {
  const { clock, store, log, runtime, launches, worktrees, isServed, fleet, options } = ctx;
  const { callOf } = launches;

  const makeWorktree = async ({ launchId }: EffectOf<"makeWorktree">): Promise<LaunchEvent> => {
    const { request, plan, signal } = callOf(launchId);
    const { directory: project, job } = request;
    const made = await (job
      ? worktrees.make({ directory: project, project, commit: job.commit, signal })
      : worktrees.make({ directory: plan.callerDirectory, project, signal }));
    if (!made.ok) return { type: "WORKTREE_REFUSED", at: clock.now(), reason: made.reason };
    // The plugin may have been disposed of meanwhile, so that nobody takes it.
    if (!runtime.isLaunching(launchId)) await worktrees.remove(made.value.id);
    return { type: "WORKTREE_MADE", at: clock.now(), worktree: made.value };
  };

  const askFleet = async ({ launchId }: EffectOf<"askFleet">): Promise<LaunchEvent> => {
    const { request, plan } = callOf(launchId);
    const offer = await fleet?.offerFor(options.gate.agents, request, plan);
    const at = clock.now();
    if (offer && !offer.ok) return { type: "FLEET_ANSWERED", at, notOffered: offer.reason };
    return { type: "FLEET_ANSWERED", at, ...(offer?.value ? { offer: offer.value } : {}) };
  };

  const takeTurn = ({ launchId }: EffectOf<"takeTurn">): Promise<LaunchEvent> => {
    const { answered } = callOf(launchId);
    const { promise, resolve } = Promise.withResolvers<LaunchEvent>();
    const ends = launches.inTurn(() => {
      resolve({ type: "TURN_TAKEN", at: clock.now() });
      return answered;
    });
    // The call that launches gets that error itself.
    ends.catch(() => undefined);
    return promise;
  };

  return {
    makeWorktree: { perform: makeWorktree, onFault: fault },
    askFleet: { perform: askFleet, onFault: fault },
    takeTurn: { perform: takeTurn, onFault: fault },
    createSession: {
      perform: async (effect) => createSession(ctx, callOf(effect.launchId), effect),
      // What the host did is not known.
      onFault: (_, at, reason) => ({ type: "CREATION_UNCONFIRMED", at, reason: `Fault: ${reason}` }),
    },
    findSession: {
      perform: async ({ pending }) => {
        const sessionID = await findSession(ctx, pending);
        const at = clock.now();
        return sessionID === undefined ? { type: "SESSION_NOT_FOUND", at } : { type: "SESSION_FOUND", at, sessionID };
      },
      onFault: fault,
    },
    cutCopy: { perform: async (effect) => cutCopy(ctx, callOf(effect.launchId), effect), onFault: fault },
    storePreamble: {
      perform: async (effect) => storePreamble(ctx, callOf(effect.launchId), effect),
      onFault: (_, at, reason) => ({ type: "PREPARATION_FAILED", at, reason }),
    },
    readConversation: {
      perform: async (effect) => readConversation(ctx, callOf(effect.launchId), effect),
      onFault: fault,
    },
    startTask: {
      perform: (effect) => {
        const { launchId, worktree } = effect;
        if (worktree && !isServed(worktree.directory)) return { type: "NOT_SERVED", at: clock.now() };
        startTask(ctx, callOf(launchId), effect);
        return { type: "TASK_STARTED", at: clock.now() };
      },
      onFault: fault,
    },
    endPending: { perform: ({ messageID }) => void store.endLaunch(messageID) },
    removeSessions: {
      perform: (effect) => removeSessions(ctx, effect),
      onFault: (_, at) => ({ type: "SESSIONS_LEFT", at }),
    },
    removeWorktree: {
      perform: async ({ worktreeId }) => {
        await worktrees.remove(worktreeId);
        return { type: "WORKTREE_REMOVED", at: clock.now() };
      },
      onFault: fault,
    },
    answerCall: {
      perform: ({ launchId, answer }) => {
        const call = callOf(launchId);
        try {
          call.answer(toOutcome(ctx, answer));
        } catch (error) {
          call.fail(error as Error);
        }
        return undefined;
      },
    },
    leaveToNext: {
      perform: ({ pending }) =>
        void log.error("still unknown whether a launch created a session; the next OpenCode process searches again", {
          ...pending,
        }),
    },
  };
};
