import type { LaunchContext } from "./events.ts";
import { REMOVAL_BACKOFF, request } from "./setup.ts";

/*
 * What several states of a launch want done.
 */

const sessionsOf = ({ sessions, sessionID }: LaunchContext): readonly string[] | undefined =>
  sessions ?? (sessionID === undefined ? undefined : [sessionID]);

/** Requests that the sessions which were created be deleted. */
export const requestSessionRemoval = request("removeSessions", ({ context }) => {
  const { id: launchId, pending, isFinal } = context;
  return pending && { launchId, pending, sessions: sessionsOf(context), isFinal };
});

/** Requests that nothing be stored any more of a session that was not created. */
export const endPending = request(
  "endPending",
  ({ context: { id: launchId, pending } }) => pending && { launchId, messageID: pending.messageID },
);

/** Leaves the copy to an actor of its own, which tries again after a pause: the caller waits for its task. */
export const leaveCopy = request("leaveCopy", ({ context: { id: launchId, sessions, pending }, event }) => {
  if (!pending) return undefined;
  const dueAt = event.at + REMOVAL_BACKOFF.first;
  return { launchId, left: { pending, ...(sessions ? { sessions } : {}), isFinal: false, tries: 1, dueAt } };
});

export const leaveToNext = request(
  "leaveToNext",
  ({ context: { id: launchId, pending } }) => pending && { launchId, pending },
);

/** Requests that the worktree that was made be removed, if one was. */
export const requestWorktreeRemoval = request(
  "removeWorktree",
  ({ context: { id: launchId, needsWorktree, worktree } }) =>
    needsWorktree && worktree ? { launchId, worktreeId: worktree.id } : undefined,
);

/** Answers the call that launches: there is a task. */
export const answerStarted = request("answerCall", ({ context }) => {
  const { id: launchId, sessionID = "", pending, forkRefusal, notOffered } = context;
  const answer = {
    ...({ is: "started", sessionID, messageID: pending?.messageID ?? launchId } as const),
    ...(forkRefusal === undefined ? {} : { forkRefusal }),
    ...(notOffered === undefined ? {} : { notOffered }),
  };
  return { launchId, answer };
});

/** Answers the call that launches: there is no task. */
export const answerRefused = request("answerCall", ({ context: { id: launchId, refusal = { why: "stopped" } } }) => ({
  launchId,
  answer: { is: "refused" as const, ...refusal },
}));

/** Where a launch goes when the plugin is disposed of: what it can do no more is left to the next process. */
export const onClose = {
  target: "#closed",
  description: "What is stored of the session stays, for the next process.",
  actions: ["recordStopped", requestWorktreeRemoval, answerRefused],
} as const;
