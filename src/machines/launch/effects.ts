import type { LaunchContext, LaunchEvent } from "./events.ts";
import { launchSetup, REMOVAL_BACKOFF } from "./setup.ts";

/*
 * What several states of a launch want done.
 */

const sessionsOf = ({ sessions, sessionID }: LaunchContext): readonly string[] | undefined =>
  sessions ?? (sessionID === undefined ? undefined : [sessionID]);

/** Requests that the sessions which were created be deleted. */
export const removeSessions = launchSetup.enqueueActions(({ context, enqueue }) => {
  const { id: launchId, pending, isFinal } = context;
  if (!pending) return;
  const sessions = sessionsOf(context);
  enqueue({ type: "emitEffect", params: { type: "removeSessions", launchId, pending, sessions, isFinal } });
});

/** Requests that nothing be stored any more of a session that was not created. */
export const endPending = launchSetup.enqueueActions(({ context: { id: launchId, pending }, enqueue }) => {
  if (!pending) return;
  const { messageID } = pending;
  enqueue({ type: "emitEffect", params: { type: "endPending", launchId, messageID } });
});

/** Leaves the copy to an actor of its own, which tries again after a pause: the caller waits for its task. */
export const leaveCopy = launchSetup.enqueueActions(
  ({ context: { id: launchId, sessions, pending }, event, enqueue }) => {
    if (!pending) return;
    const dueAt = event.at + REMOVAL_BACKOFF.first;
    const left = { pending, ...(sessions ? { sessions } : {}), isFinal: false, tries: 1, dueAt };
    enqueue({ type: "emitEffect", params: { type: "leaveCopy", launchId, left } });
  },
);

export const leaveToNext = launchSetup.enqueueActions(({ context: { id: launchId, pending }, enqueue }) => {
  if (pending) enqueue({ type: "emitEffect", params: { type: "leaveToNext", launchId, pending } });
});

/** Requests that the worktree that was made be removed, if one was. */
export const removeWorktree = launchSetup.enqueueActions(({ context, enqueue }) => {
  const { id: launchId, needsWorktree, worktree } = context;
  if (!needsWorktree || !worktree) return;
  enqueue({ type: "emitEffect", params: { type: "removeWorktree", launchId, worktreeId: worktree.id } });
});

/** Answers the call that launches: there is a task. */
export const answerStarted = launchSetup.enqueueActions(({ context, enqueue }) => {
  const { id: launchId, sessionID = "", pending, forkRefusal, notOffered } = context;
  const answer = {
    ...({ is: "started", sessionID, messageID: pending?.messageID ?? launchId } as const),
    ...(forkRefusal === undefined ? {} : { forkRefusal }),
    ...(notOffered === undefined ? {} : { notOffered }),
  };
  enqueue({ type: "emitEffect", params: { type: "answerCall", launchId, answer } });
});

/** Answers the call that launches: there is no task. */
export const answerRefused = {
  type: "emitEffect",
  params: ({
    context: { id: launchId, refusal = { why: "stopped" } },
  }: {
    context: LaunchContext;
    event: LaunchEvent;
  }) => ({
    ...({ type: "answerCall", launchId } as const),
    answer: { is: "refused" as const, ...refusal },
  }),
} as const;

/** Where a launch goes when the plugin is disposed of: what it can do no more is left to the next process. */
export const onClose = {
  target: "#closed",
  description: "What is stored of the session stays, for the next process.",
  actions: ["recordStopped", removeWorktree, answerRefused],
} as const;
