import { and, assertEvent } from "xstate";
import type { TaskError } from "../../task.ts";
import type { TaskContext, TaskEffect } from "./events.ts";
import {
  cancelled,
  endCancelled,
  endCompleted,
  endFailed,
  recordEventError,
  SESSION_DELETED,
  stoppedAtLimit,
} from "./run-transitions.ts";
import { isSameClaim, keptAnswer, taskSetup } from "./setup.ts";

/*
 * What the states of a run in the fleet have in common: their actions, and where they lead to.
 */

const UNEXPLAINED: TaskError = {
  name: "ServerError",
  kind: "fleet",
  message: "The server that worked on the task says that it failed, and not why.",
};

/** Returns an action that requests something of the fleet for the newest run. */
const ofRun = (type: "sendOrder" | "readRun" | "recallRun" | "closeRun") =>
  ({
    type: "emitEffect",
    params: ({ context: { facts, run } }: { context: TaskContext }): TaskEffect => ({
      type,
      taskId: facts.sessionID,
      run: run.index,
    }),
  }) as const;

export const sendOrder = ofRun("sendOrder");
export const readRun = ofRun("readRun");
export const recallRun = ofRun("recallRun");
export const closeRun = ofRun("closeRun");

/** Records what the server says of the end. The clocks of servers differ: a run ends while it is under way. */
const recordRemoteEnd = taskSetup.assign(({ context: { run, remote }, event }) => {
  assertEvent(event, "REMOTE_ENDED");
  const { at, completedAt, outcome, error, receipt, worktree } = event;
  const cause = outcome === "error" ? (error ?? UNEXPLAINED) : error;
  return {
    completedAt: Math.min(at, Math.max(completedAt, run.startedAt)),
    ...keptAnswer(event),
    error: outcome === "completed" ? undefined : cause,
    receipt: receipt && { ...receipt, run: run.index },
    remote: remote && { ...remote, worktree: worktree ?? remote.worktree },
  };
});

/** Records the same of a run that was stopped at a limit: where it is not known here what it said, its server says it. */
const recordRemoteStop = taskSetup.assign(({ context, event }) => {
  assertEvent(event, "REMOTE_ENDED");
  const { result, receipt, worktree } = event;
  const { remote, run } = context;
  return {
    result: context.result ?? result,
    receipt: receipt && { ...receipt, run: run.index },
    remote: remote && { ...remote, worktree: worktree ?? remote.worktree },
  };
});

const end = ["recordEnd", recordRemoteEnd] as const;

/** The server that works on the run says how it ended. */
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

/** The run fails with this error, and a server that has it is to stop. */
export const failAndCloseWith = (error: TaskError) =>
  ["recordEnd", { type: "recordError", params: error }, closeRun, endFailed] as const;

/** A fault in the plugin ends the run, and a server that has it is to stop. */
export const failAndClose = ["recordEnd", recordEventError, closeRun, endFailed] as const;

/** The session of a run that is being stopped is deleted: nobody waits for its server any more. */
export const deletedWhileStopping = [
  { ...stoppedAtLimit, actions: [closeRun, ...stoppedAtLimit.actions] },
  { ...cancelled, actions: [closeRun, ...cancelled.actions] },
] as const;

/** The session of a run is deleted. */
export const deleted = {
  target: "#idle",
  description: "The server that has it is to stop.",
  actions: failAndCloseWith(SESSION_DELETED),
} as const;

/** Nobody in the fleet works on a launch: it is worked on here, as if no server ever had. Its time counts from now on. */
const workHere = {
  guard: "isLaunch",
  target: "#queued",
  description: "It is worked on here.",
  actions: taskSetup.assign({ sendAttempts: 0, remote: undefined, queuedUntil: ({ event }) => event.at }),
} as const;

/** The conversation of a task that is resumed is on one server alone, which does not go on with it. */
const AWAY: TaskError = {
  name: "ServerAway",
  kind: "fleet",
  message: "The server that has the conversation of the task did not go on with it in time.",
};

/** The engine does not take the order. */
export const notOrdered = [
  workHere,
  {
    target: "#idle",
    description: "Only the server that has its conversation could go on with it. The order may be there all the same.",
    actions: failAndClose,
  },
] as const;

/** The order is taken back, or somebody else has closed the run. */
export const notTaken = [
  workHere,
  {
    target: "#idle",
    description: "Only the server that has its conversation could go on with it.",
    actions: ["recordEnd", { type: "recordError", params: AWAY }, endFailed],
  },
] as const;

/** Another server begins the run anew, or the first one does. Its time counts from then on. */
const recordClaim = taskSetup.assign(({ context: { remote }, event }) => {
  assertEvent(event, "REMOTE_CLAIMED");
  const { at, claim, server, replaces } = event;
  const { attempts = 0 } = remote ?? {};
  const isBegunBefore = attempts > 0 && isSameClaim(replaces, remote?.claim);
  return { remote: { ...remote, claim, server, attempts: attempts + (isBegunBefore ? 0 : 1) }, queuedUntil: at };
});

/** A server takes the run. */
export const claimed = (target: "away" | "recalling") =>
  ({ guard: "isNewClaim", target, actions: recordClaim }) as const;

/** The server that took the run last goes on with it, though it was taken for lost. */
export const held = {
  guard: "isNewestClaim",
  target: "away",
  description: "It is not begun anew.",
} as const;
