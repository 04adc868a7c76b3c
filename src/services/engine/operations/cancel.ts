import type { TaskEvent, UserRequest } from "../../../machines/task/events.ts";
import { isPaused } from "../../../machines/task/machine.ts";
import { TASK_LIMITS } from "../../../machines/task/setup.ts";
import { hasEnded, type Task, type TaskError } from "../../../task.ts";
import type { Host, HostFailure, HostResult } from "../../host/host.ts";
import { firstFailure, okIfNotFound } from "../../host/sessions.ts";
import { sleep } from "../../platform/clock.ts";
import type { EngineContext } from "../context.ts";
import type { CancelResult, KeptTask } from "../requests.ts";
import { getTask } from "./read-task.ts";
import { ABORT_WAITER, CLEAR_WAITER, isKnownAfterAbort } from "./wait.ts";

/** Milliseconds to wait at most for a cancelled task to stop: ten attempts, each of several calls that may take 15 s to fail. */
const STOP_TIMEOUT_MS = 900_000;

/**
 * Resolves when tasks that are being stopped have ended, or at the latest when their charts have given up. An abort of the
 * caller's turn does not end this wait: they are to stop in any case.
 */
export const untilEnded = ({ waits }: EngineContext, taskIds: string[]) =>
  waits.waitForEnd({ taskIds, signal: new AbortController().signal, timeoutMs: STOP_TIMEOUT_MS });

/** Returns the ids of the tasks launched by sessions, either directly or from helper sessions of their tasks. */
export const launchedBy = ({ store }: Pick<EngineContext, "store">, sessionIDs: string[]): string[] => {
  const launched = sessionIDs.flatMap((id) => [
    ...store.list({ parentSessionID: id }),
    ...store.list({ parentTaskId: id }),
  ]);
  return [...new Set(launched.map(({ sessionID }) => sessionID))];
};

/** Requests that a task stop. Returns the reason if it refuses. */
const requestStop = ({ runtime, clock }: EngineContext, taskId: string): string | undefined => {
  const event = { type: "CANCEL", at: clock.now() } as const;
  const refused = runtime.refusalReason(taskId, event);
  if (refused === undefined) runtime.send(taskId, event);
  return refused;
};

/** Cancels tasks and all that they launched. Resolves when they have stopped, or when their charts have given up stopping them. */
export const cancel = async (ctx: EngineContext, taskIds: string[]): Promise<CancelResult[]> => {
  const { runtime } = ctx;
  const requests = taskIds.map((taskId) => ({ taskId, refused: requestStop(ctx, taskId) }));
  const stopping = requests.flatMap(({ taskId, refused }) => (refused === undefined ? taskId : []));
  await Promise.all([
    untilEnded(
      ctx,
      taskIds.filter((taskId) => runtime.snapshotOf(taskId)),
    ),
    ...stopping.map((taskId) => cancelChildren(ctx, taskId)),
  ]);
  return requests.flatMap(({ taskId, refused }) => {
    const task = getTask(ctx, taskId);
    if (!task) return [];
    return refused === undefined ? { task } : { task, refused };
  });
};

/** Cancels all tasks of a session that takes no more notices. Their results are not delivered to it. */
export const cancelChildren = async (ctx: EngineContext, sessionID: string): Promise<void> => {
  const { runtime, clock } = ctx;
  const pendingPrompt = runtime.pendingPrompt(sessionID);
  const children = launchedBy(ctx, [sessionID]).filter((taskId) => runtime.snapshotOf(taskId));
  const parentIDs = children.flatMap((taskId) => runtime.snapshotOf(taskId)?.context.facts.parentSessionID ?? []);
  for (const id of new Set([sessionID, ...parentIDs])) {
    runtime.dispatch({ type: "OUTBOX", id, event: { type: "PARENT_CLOSED", at: clock.now() } });
  }
  await Promise.all([
    pendingPrompt && stopUntilQuiet(ctx, sessionID, pendingPrompt),
    children.length > 0 && cancel(ctx, children),
  ]);
};

/** Stops a session until a notice that was already sent has arrived and nothing works on it: it would wake the session. */
const stopUntilQuiet = async (ctx: EngineContext, taskId: string, messageID: string): Promise<void> => {
  for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts; attempt += 1) {
    const { type } = await stopSession(ctx, { taskId, messageID, requests: [] });
    if (type === "STOPPED") return;
    await sleep(ctx.clock, TASK_LIMITS.stopAgainAfter);
  }
};

/**
 * Registers a waiter while `work` ends the tasks, so that no notice is queued. If `work` returns "news", the notice is
 * queued after all.
 */
const withWaiter = async (
  ctx: EngineContext,
  taskIds: string[],
  waiter: string,
  work: () => Promise<"known" | "news">,
): Promise<void> => {
  const { sendToWaitedTasks } = ctx.waits;
  sendToWaitedTasks("WAIT_BEGAN", waiter, taskIds);
  try {
    const outcome = await work();
    if (!ctx.stopping.signal.aborted)
      sendToWaitedTasks(outcome === "known" ? "WAIT_DELIVERED" : "WAIT_ABANDONED", waiter, taskIds);
  } catch (error) {
    sendToWaitedTasks("WAIT_ABANDONED", waiter, taskIds);
    throw error;
  }
};

/** True for a task that was paused with its parent: that ended the parent's turn, and they go on together. */
const isPausedWithParent = (
  { runtime }: EngineContext,
  { sessionID, parentSessionID, parentTaskId }: Task,
): boolean => {
  const isPausedTask = (id: string | undefined) => id !== undefined && isPaused(runtime.snapshotOf(id));
  return isPausedTask(sessionID) && (isPausedTask(parentSessionID) || isPausedTask(parentTaskId));
};

/**
 * Cancels a task without a notice, because its parent's turn was aborted and the parent knows that the task ends. An
 * OpenCode that exits aborts turns too, so this waits a moment first: where the engine is stopped meanwhile, the next process
 * continues the task.
 */
export const cancelSilently = async (ctx: EngineContext, taskId: string): Promise<void> => {
  const task = getTask(ctx, taskId);
  if (!task || hasEnded(task) || isPausedWithParent(ctx, task)) return;
  await withWaiter(ctx, [taskId], ABORT_WAITER, async () => {
    await sleep(ctx.clock, TASK_LIMITS.cancelAfterAbort);
    if (!ctx.stopping.signal.aborted) await cancel(ctx, [taskId]);
    const ended = getTask(ctx, taskId);
    return ended && isKnownAfterAbort(ended) ? "known" : "news";
  });
};

/**
 * Removes tasks for good with their descendants, after cancelling those that are running. No notice is sent for them.
 * @param by an agent cannot remove a task whose changes no person has decided about, nor an ancestor of it: those are kept
 */
export const clear = async (ctx: EngineContext, taskIds: string[], by: "agent" | "person"): Promise<KeptTask[]> => {
  const { store, runtime, worktrees } = ctx;
  const known = () => taskIds.flatMap((taskId) => getTask(ctx, taskId) ?? []);
  const running = known().flatMap((task) => (hasEnded(task) ? [] : task.sessionID));
  let kept: KeptTask[] = [];
  await withWaiter(ctx, running, CLEAR_WAITER, async () => {
    await cancel(ctx, running);
    const children = launchedBy(ctx, taskIds);
    const keptDescendants = children.length > 0 ? await clear(ctx, children, by) : [];
    if (by === "agent") {
      await worktrees.countUndecided(known());
      kept = known().flatMap((task) => keptOf(ctx, task, keptDescendants));
    }
    const keptIds = new Set(kept.map(({ task }) => task.sessionID));
    // Read again: they have ended in the meantime, or another call removed them and has already announced that.
    const ended = known().filter(({ sessionID }) => !keptIds.has(sessionID));
    store.remove(taskIds.filter((taskId) => !keptIds.has(taskId)));
    runtime.forget(ended);
    worktrees.forget(ended);
    return "known";
  });
  return kept;
};

const keptOf = ({ worktrees }: EngineContext, task: Task, keptDescendants: readonly KeptTask[]): KeptTask | [] => {
  const changes = worktrees.undecidedChanges(task);
  if (changes) return { task, owner: task, changes };
  const kept = keptDescendants.find(({ task: { parentSessionID, parentTaskId } }) =>
    [parentSessionID, parentTaskId].includes(task.sessionID),
  );
  return kept ? { ...kept, task } : [];
};

/** What a child whose request is rejected reads, while its task is being stopped. */
const CANCELLED = "The task is cancelled.";

/** The same, while the task is being paused. */
const PAUSED = "The task is paused. Ask again when you go on.";

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
  {
    taskId,
    messageID,
    requests,
    isPause = false,
  }: { taskId: string; messageID: string; requests: UserRequest[]; isPause?: boolean },
): Promise<TaskEvent> => {
  const { sessions, results } = await abortAll(host, taskId);
  // The host would list the child's open requests for ever: an abort does not remove them.
  const rejected = await Promise.all(
    requests.map((request) => host.rejectUserRequest(request, isPause ? PAUSED : CANCELLED)),
  );
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
