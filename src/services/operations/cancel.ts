// ADR-004, ADR-260 in docs/decisions.md
import { TASK_LIMITS } from "../../machines/task/setup.ts";
import { hasEnded, type Task, type WorktreeChanges } from "../../task.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import { createWaitEvents, type Waits } from "./wait.ts";

/** The outcome of cancelling one task. */
export interface CancelResult {
  task: Task;
  /** Why the task was not cancelled, as the rest of a sentence that begins with "task …"; absent if it was. */
  refused?: string;
}

/** A task that an agent could not remove, and the changes that a person has to decide about first. */
export interface KeptTask {
  task: Task;
  /** The task that has the changes: itself, or one below it. */
  owner: Task;
  changes: WorktreeChanges;
}

/** Ends tasks, together with all the tasks that they launched. */
export interface Cancellation {
  /** Cancels tasks. Resolves when they have stopped, or at the latest when their charts have given up stopping them. */
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  /**
   * Cancels a task without a notice, because its parent's turn was aborted and the parent knows that the task ends. An
   * OpenCode that exits aborts turns too, so this waits a moment first, during which `stop` may be called.
   */
  cancelSilently(taskId: string): Promise<void>;
  /**
   * Removes tasks for good with all below them, after cancelling those that are running. No notice is sent for them.
   * @param by an agent cannot remove a task whose changes no person has decided about, nor one above it: those are kept
   */
  clear(taskIds: string[], by: "agent" | "person"): Promise<KeptTask[]>;
  /** Cancels all tasks of a session that takes no more notices. Their results are not delivered to it. */
  cancelChildren(sessionID: string): Promise<void>;
  /** Resolves when a task that is being stopped has ended, or at the latest when its chart has given up. */
  untilEnded(taskId: string): Promise<unknown>;
  /** Lets `cancelSilently` cancel nothing more: this process ends, and the next one continues the tasks. */
  stop(): void;
}

/** Milliseconds to wait at most for a cancelled task to stop: ten attempts, each of several calls that may take 15 s to fail. */
const STOP_TIMEOUT_MS = 900_000;

/** The waiter of a task that is being cleared, in place of a tool call's id. */
export const CLEAR_WAITER = "clearing";

/** The waiter of a task that another server has ordered, in place of a tool call's id: that server is given the result. */
export const FLEET_WAITER = "fleet";

/**
 * The waiter of a task whose caller's turn was aborted, in place of a tool call's id. The caller's session knows that the
 * task ends, even if this process exits before that.
 */
export const ABORT_WAITER = "aborted";

/** True for an end that is no news to a session whose turn was aborted: the task was cancelled, and nothing else happened. */
export const isKnownAfterAbort = ({ status, error }: Task): boolean => status === "cancelled" && !error;

/** Dependencies of cancelling and clearing. */
export interface CancellationDeps {
  runtime: Runtime;
  store: Store;
  clock: Clock;
  waitForEnd: Waits["waitForEnd"];
  worktrees: Pick<Worktrees, "forget" | "countUndecided" | "undecidedChanges">;
  /** Returns a task as people see it. */
  get(taskId: string): Task | undefined;
  /** Aborts a session. Resolves to true once it has stopped and the message with that id has arrived. */
  stopSession(sessionID: string, messageID: string): Promise<boolean>;
}

/** Creates the operations that cancel and clear tasks. */
export const createCancellation = ({
  runtime,
  store,
  clock,
  waitForEnd,
  get,
  stopSession,
  worktrees,
}: CancellationDeps): Cancellation => {
  const sendToWaitedTasks = createWaitEvents(runtime, clock);
  let stopped = false;

  /** Waits until tasks have ended. An abort of the caller's turn does not end this wait: they are to stop in any case. */
  const untilEnded = (taskIds: string[]) =>
    waitForEnd({ taskIds, signal: new AbortController().signal, timeoutMs: STOP_TIMEOUT_MS });

  /** Returns the ids of the tasks launched by sessions, either directly or from helper sessions below their tasks. */
  const launchedBy = (sessionIDs: string[]): string[] => {
    const launched = sessionIDs.flatMap((id) => [
      ...store.list({ parentSessionID: id }),
      ...store.list({ parentTaskId: id }),
    ]);
    return [...new Set(launched.map(({ sessionID }) => sessionID))];
  };

  /** Requests that a task stop. Returns the reason if it refuses. */
  const requestStop = (taskId: string): string | undefined => {
    const event = { type: "CANCEL", at: clock.now() } as const;
    const refused = runtime.refusalReason(taskId, event);
    if (refused === undefined) runtime.send(taskId, event);
    return refused;
  };

  const cancel = async (taskIds: string[]): Promise<CancelResult[]> => {
    const requests = taskIds.map((taskId) => ({ taskId, refused: requestStop(taskId) }));
    const stopping = requests.flatMap(({ taskId, refused }) => (refused === undefined ? taskId : []));
    await Promise.all([
      untilEnded(taskIds.filter((taskId) => runtime.snapshotOf(taskId))),
      ...stopping.map(cancelChildren),
    ]);
    return requests.flatMap(({ taskId, refused }) => {
      const task = get(taskId);
      if (!task) return [];
      return refused === undefined ? { task } : { task, refused };
    });
  };

  const cancelChildren = async (sessionID: string): Promise<void> => {
    const pendingPrompt = runtime.pendingPrompt(sessionID);
    const children = launchedBy([sessionID]).filter((taskId) => runtime.snapshotOf(taskId));
    const parentIDs = children.flatMap((taskId) => runtime.snapshotOf(taskId)?.context.facts.parentSessionID ?? []);
    for (const id of new Set([sessionID, ...parentIDs])) {
      runtime.dispatch({ type: "OUTBOX", id, event: { type: "PARENT_CLOSED", at: clock.now() } });
    }
    await Promise.all([
      pendingPrompt && stopUntilQuiet(sessionID, pendingPrompt),
      children.length > 0 && cancel(children),
    ]);
  };

  /** Stops a session until a notice that was already sent has arrived and nothing works on it: it would wake the session. */
  const stopUntilQuiet = async (sessionID: string, messageID: string): Promise<void> => {
    for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts; attempt += 1) {
      if (await stopSession(sessionID, messageID)) return;
      await sleep(clock, TASK_LIMITS.stopAgainAfter);
    }
  };

  /**
   * Registers a waiter while `work` ends the tasks, so that no notice is queued. If `work` returns "news", the notice is
   * queued after all.
   */
  const withWaiter = async (
    taskIds: string[],
    waiter: string,
    work: () => Promise<"known" | "news">,
  ): Promise<void> => {
    sendToWaitedTasks("WAIT_BEGAN", waiter, taskIds);
    try {
      const outcome = await work();
      if (!stopped) sendToWaitedTasks(outcome === "known" ? "WAIT_DELIVERED" : "WAIT_ABANDONED", waiter, taskIds);
    } catch (error) {
      sendToWaitedTasks("WAIT_ABANDONED", waiter, taskIds);
      throw error;
    }
  };

  const cancelSilently = async (taskId: string): Promise<void> => {
    const task = get(taskId);
    if (!task || hasEnded(task)) return;
    await withWaiter([taskId], ABORT_WAITER, async () => {
      await sleep(clock, TASK_LIMITS.cancelAfterAbort);
      if (!stopped) await cancel([taskId]);
      const ended = get(taskId);
      return ended && isKnownAfterAbort(ended) ? "known" : "news";
    });
  };

  const clear: Cancellation["clear"] = async (taskIds, by) => {
    const known = () => taskIds.flatMap((taskId) => get(taskId) ?? []);
    const running = known().flatMap((task) => (hasEnded(task) ? [] : task.sessionID));
    let kept: KeptTask[] = [];
    await withWaiter(running, CLEAR_WAITER, async () => {
      await cancel(running);
      const children = launchedBy(taskIds);
      const keptBelow = children.length > 0 ? await clear(children, by) : [];
      if (by === "agent") {
        await worktrees.countUndecided(known());
        kept = known().flatMap((task) => keptOf(task, keptBelow));
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

  const keptOf = (task: Task, keptBelow: readonly KeptTask[]): KeptTask | [] => {
    const changes = worktrees.undecidedChanges(task);
    if (changes) return { task, owner: task, changes };
    const below = keptBelow.find(({ task: { parentSessionID, parentTaskId } }) =>
      [parentSessionID, parentTaskId].includes(task.sessionID),
    );
    return below ? { ...below, task } : [];
  };

  return {
    cancel,
    cancelSilently,
    clear,
    cancelChildren,
    untilEnded: (taskId) => untilEnded([taskId]),
    stop: () => {
      stopped = true;
    },
  };
};
