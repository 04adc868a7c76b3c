import type { TaskEvent, UserRequest } from "../../../machines/task/events.ts";
import { TASK_LIMITS } from "../../../machines/task/setup.ts";
import type { TaskError } from "../../../task.ts";
import type { Host, HostFailure, HostResult } from "../../host/host.ts";
import { firstFailure, okIfNotFound } from "../../host/sessions.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { EngineContext } from "../context.ts";

/** What a child whose request is rejected reads, while its task is being stopped. */
const CANCELLED = "The task is cancelled.";

/** The error of a session that has not stopped. */
export const notStopped = (failure: HostFailure | undefined): TaskError => ({
  name: failure?.name ?? "StillRunning",
  kind: "host",
  message: `OpenCode did not confirm that the session stopped${failure ? `: ${failure.message}` : "."}`,
});

/**
 * Aborts a session and its descendants. Returns the sessions that were reached and all results. A session that is not
 * found counts as reached, for it may have descendants.
 */
const abortAll = async (
  host: Host,
  sessionID: string,
): Promise<{ sessions: string[]; results: HostResult<unknown>[] }> => {
  const [aborted, children] = await Promise.all([host.abort(sessionID), host.children(sessionID)]);
  const descendants = await Promise.all((children.ok ? children.value : []).map((child) => abortAll(host, child)));
  return {
    sessions: [sessionID, ...descendants.flatMap(({ sessions }) => sessions)],
    results: [aborted, children, ...descendants.flatMap(({ results }) => results)],
  };
};

/**
 * Aborts a session and its descendants, and rejects what they ask. The session has stopped once the message with that id
 * has arrived and nothing works.
 */
export const stopSession = async (
  { host, clock }: EngineContext,
  { taskId, messageID, requests }: { taskId: string; messageID: string; requests: UserRequest[] },
): Promise<TaskEvent> => {
  const { sessions, results } = await abortAll(host, taskId);
  // The host would list the child's open requests for ever: an abort does not remove them.
  const rejected = await Promise.all(requests.map((request) => host.rejectUserRequest(request, CANCELLED)));
  const prompted = await host.message(taskId, messageID);
  // Once more, now that the prompt is known to be there: the first abort may have come before it.
  const again = await host.abort(taskId);
  const busy = await host.busy();
  const at = clock.now();
  const failure = firstFailure([...results, again, ...rejected.map(okIfNotFound), busy, prompted]);
  const isRunning = busy.ok && sessions.some((session) => busy.value.has(session));
  if (!failure && !isRunning) return { type: "STOPPED", at };
  return { type: "NOT_STOPPED", at, error: notStopped(failure) };
};

/**
 * Stops what a prompt begins here, though another process took its task over, or removed it, while the prompt was on its
 * way: the work would be done twice. The session begins to work a moment after the host has taken the prompt.
 */
export const stopWhile = async (
  host: Pick<Host, "abort">,
  clock: Clock,
  sessionID: string,
  isLost: () => boolean,
): Promise<void> => {
  for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts && isLost(); attempt += 1) {
    await host.abort(sessionID);
    await sleep(clock, TASK_LIMITS.stopAgainAfter);
  }
};
