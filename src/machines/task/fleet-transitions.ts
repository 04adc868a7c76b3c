import { and } from "xstate";
import type { TaskError } from "../../task.ts";
import type { TaskContext } from "./events.ts";
import {
  cancelled,
  endCancelled,
  endCompleted,
  endFailed,
  recordEventError,
  SESSION_DELETED,
  stoppedAtLimit,
} from "./run-transitions.ts";
import { given, isSameClaim, keptAnswer, request, taskSetup } from "./setup.ts";

/*
 * Actions and transitions that the states of a run in the fleet share.
 */

const UNEXPLAINED: TaskError = {
  name: "ServerError",
  kind: "fleet",
  message: "The server that worked on the task reported that it failed, and not why.",
};

const newestRun = ({ context: { facts, run } }: { context: TaskContext }) => ({
  taskId: facts.sessionID,
  run: run.index,
});

export const enqueueJob = request("enqueueJob", newestRun);
export const readRun = request("readRun", newestRun);
export const requestRemoteStop = request("requestRemoteStop", newestRun);
export const closeRun = request("closeRun", newestRun);

/** Records how the run ended, as its server reports it. The clocks of servers differ: a run ends while it is under way. */
const recordRemoteEnd = taskSetup.assign(
  given("REMOTE_ENDED", ({ context: { run, remote }, event }) => {
    const { at, completedAt, outcome, error, receipt, worktree } = event;
    const cause = outcome === "error" ? (error ?? UNEXPLAINED) : error;
    return {
      completedAt: Math.min(at, Math.max(completedAt, run.startedAt)),
      ...keptAnswer(event),
      error: outcome === "completed" ? undefined : cause,
      receipt: receipt && { ...receipt, run: run.index },
      remote: remote && { ...remote, worktree: worktree ?? remote.worktree },
    };
  }),
);

/** Records the same of a run that was stopped at a limit. What it said is taken from the report only where it is not known here. */
const recordRemoteStop = taskSetup.assign(
  given("REMOTE_ENDED", ({ context, event }) => {
    const { result, receipt, worktree } = event;
    const { remote, run } = context;
    return {
      result: context.result ?? result,
      receipt: receipt && { ...receipt, run: run.index },
      remote: remote && { ...remote, worktree: worktree ?? remote.worktree },
    };
  }),
);

const end = ["recordEnd", recordRemoteEnd] as const;

/** The server that works on the run reports how it ended. */
export const ended = [
  {
    ...stoppedAtLimit,
    guard: and(["isNewestClaim", "isBeyondLimit"]),
    actions: ["recordEnd", recordRemoteStop, recordEventError, endFailed],
  },
  { guard: and(["isNewestClaim", "isRemotelyCompleted"]), target: "#idle", actions: [...end, endCompleted] },
  { guard: and(["isNewestClaim", "isRemotelyFailed"]), target: "#idle", actions: [...end, endFailed] },
  { guard: "isNewestClaim", target: "#idle", actions: [...end, endCancelled] },
] as const;

/** The run fails with this error, and a server that has it is asked to stop. */
export const failAndCloseWith = (error: TaskError) =>
  ["recordEnd", { type: "recordError", params: error }, closeRun, endFailed] as const;

/** A fault in the plugin ends the run, and a server that has it is asked to stop. */
export const failAndClose = ["recordEnd", recordEventError, closeRun, endFailed] as const;

/** The session of a run that is being stopped is deleted: nobody waits for its server any more. */
export const deletedWhileStopping = [
  { ...stoppedAtLimit, actions: [closeRun, ...stoppedAtLimit.actions] },
  { ...cancelled, actions: [closeRun, ...cancelled.actions] },
] as const;

/** The session of a run is deleted. */
export const deleted = {
  target: "#idle",
  description: "The server that has it is asked to stop.",
  actions: failAndCloseWith(SESSION_DELETED),
} as const;

/** Nobody in the fleet works on a launch: it runs here, as if no server ever had it. Its time counts from now on. */
const workHere = {
  guard: "isLaunch",
  target: "#queued",
  description: "It runs here.",
  actions: taskSetup.assign({ sendAttempts: 0, remote: undefined, queuedUntil: ({ event }) => event.at }),
} as const;

/** The conversation of a task that is resumed is on one server alone, which does not go on with it. */
const AWAY: TaskError = {
  name: "ServerAway",
  kind: "fleet",
  message: "The server that has the conversation of the task did not go on with it in time.",
};

/** The broker does not take the job. */
export const notEnqueued = [
  workHere,
  {
    target: "#idle",
    description: "Only the server that has its conversation could go on with it. The job may be queued all the same.",
    actions: failAndClose,
  },
] as const;

/** The job is withdrawn, or somebody else has closed the run. */
export const notTaken = [
  workHere,
  {
    target: "#idle",
    description: "Only the server that has its conversation could go on with it.",
    actions: ["recordEnd", { type: "recordError", params: AWAY }, endFailed],
  },
] as const;

/** Another server begins the run anew, or the first one does. Its time counts from then on. */
const recordClaim = taskSetup.assign(
  given("REMOTE_CLAIMED", ({ context: { remote }, event }) => {
    const { at, claim, server, replaces } = event;
    const begun = { claim: replaces ?? claim, server };
    const known = remote?.attempts ?? [];
    // A broker that was set back gives the place of a claim to that of another server.
    const isCounted = known.some(
      (one) => isSameClaim(one.claim, begun.claim) && (replaces || one.server.id === server.id),
    );
    const attempts = isCounted ? known : [...known, begun];
    return { remote: { ...remote, claim, server, attempts }, queuedUntil: at };
  }),
);

/** A server claims the run. */
export const onClaim = (target: "claimed" | ".requesting") =>
  ({ guard: "isNewClaim", target, actions: recordClaim }) as const;

/** The server that claimed the run last goes on with it, though it was taken for lost. */
export const held = {
  guard: "isNewestClaim",
  target: "claimed",
  description: "It is not begun anew.",
} as const;
