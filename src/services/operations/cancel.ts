import { TASK_LIMITS } from "../../machines/task/setup.ts";
import { hasEnded, type Task } from "../../task.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import { createWaitEvents, type Waits } from "./wait.ts";

/** What became of a cancellation: `refused` is a reason that follows "task …"; absent when it was cancelled. */
export interface CancelResult {
  task: Task;
  refused?: string;
}

/** Brings tasks to an end, and all that they launched with them. */
export interface Cancellation {
  /** Resolves when the tasks have stopped, or at the latest when their machines have given up. */
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  /**
   * Cancels a task whose parent's turn was aborted, and knows of it: no notice is owed. An OpenCode that ends aborts
   * turns too, so that comes after a moment, in which `stop` may come.
   */
  cancelSilently(taskId: string): Promise<void>;
  /** Removes tasks for good, those that run cancelled first. Nobody is told of them any more. */
  clear(taskIds: string[]): Promise<Task[]>;
  /** A session takes no more notices: its tasks are cancelled, and not told to it. */
  cancelChildren(sessionID: string): Promise<void>;
  /** Resolves when the task, which is being stopped, has ended; or at the latest when its machine has given up. */
  untilEnded(taskId: string): Promise<unknown>;
  stop(): void;
}

/** Longest wait for a cancelled task to stop, in milliseconds: ten attempts, each of calls that may take 15 s to fail. */
const STOP_TIMEOUT_MS = 900_000;

/** Stands for the call that waits, while a task is being cleared. */
export const CLEAR_WAITER = "clearing";

/** Stands for the call whose turn was aborted: its session knows that the task ends, even if this process does not see it. */
export const ABORT_WAITER = "aborted";

/** What tasks are ended with. */
export interface CancellationDeps {
  runtime: Runtime;
  store: Store;
  clock: Clock;
  waitForEnd: Waits["waitForEnd"];
  /** A task as people see it. */
  get(taskId: string): Task | undefined;
  /** Stops what works on a session; true when it has stopped, and the message had arrived. */
  stopSession(sessionID: string, messageID: string): Promise<boolean>;
}

export const createCancellation = ({
  runtime,
  store,
  clock,
  waitForEnd,
  get,
  stopSession,
}: CancellationDeps): Cancellation => {
  const tell = createWaitEvents(runtime, clock);
  let stopped = false;

  /** Not bound to the caller's turn: what is being stopped shall stop, whatever that turn does meanwhile. */
  const untilEnded = (taskIds: string[]) =>
    waitForEnd({ taskIds, signal: new AbortController().signal, timeoutMs: STOP_TIMEOUT_MS });

  /** What sessions launched, or those below their tasks that are no tasks. */
  const launchedBy = (sessionIDs: string[]): string[] => {
    const launched = sessionIDs.flatMap((id) => [
      ...store.list({ parentSessionID: id }),
      ...store.list({ parentTaskId: id }),
    ]);
    return [...new Set(launched.map(({ sessionID }) => sessionID))];
  };

  /** Asks one task to stop. Returns why it would not, if so. */
  const askToStop = (taskId: string): string | undefined => {
    const event = { type: "CANCEL", at: clock.now() } as const;
    const refused = runtime.refusalReason(taskId, event);
    if (refused === undefined) runtime.send(taskId, event);
    return refused;
  };

  const cancel = async (taskIds: string[]): Promise<CancelResult[]> => {
    const asked = taskIds.map((taskId) => ({ taskId, refused: askToStop(taskId) }));
    const stopping = asked.flatMap(({ taskId, refused }) => (refused === undefined ? taskId : []));
    await Promise.all([untilEnded(taskIds.filter((taskId) => runtime.snapshotOf(taskId))), ...stopping.map(orphan)]);
    return asked.flatMap(({ taskId, refused }) => {
      const task = get(taskId);
      if (!task) return [];
      return refused === undefined ? { task } : { task, refused };
    });
  };

  const orphan = async (sessionID: string): Promise<void> => {
    const underWay = runtime.pendingPrompt(sessionID);
    const below = launchedBy([sessionID]).filter((taskId) => runtime.snapshotOf(taskId));
    const helpers = below.flatMap((taskId) => runtime.snapshotOf(taskId)?.context.facts.parentSessionID ?? []);
    for (const id of new Set([sessionID, ...helpers])) {
      runtime.dispatch({ type: "OUTBOX", id, event: { type: "PARENT_CLOSED", at: clock.now() } });
    }
    await Promise.all([underWay && stopUntilQuiet(sessionID, underWay), below.length > 0 && cancel(below)]);
  };

  /** A notice that is on its way in would wake the session: it is stopped until that notice is there and nobody works on it. */
  const stopUntilQuiet = async (sessionID: string, messageID: string): Promise<void> => {
    for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts; attempt += 1) {
      if (await stopSession(sessionID, messageID)) return;
      await sleep(clock, TASK_LIMITS.stopAgainAfter);
    }
  };

  /** Has somebody who knows of a task's end wait for it while it is brought about. It is told if it comes otherwise. */
  const withWaiter = async (taskIds: string[], call: string, work: () => Promise<"known" | "news">): Promise<void> => {
    tell("WAIT_BEGAN", call, taskIds);
    try {
      const end = await work();
      if (!stopped) tell(end === "known" ? "WAIT_DELIVERED" : "WAIT_ABANDONED", call, taskIds);
    } catch (error) {
      tell("WAIT_ABANDONED", call, taskIds);
      throw error;
    }
  };

  const cancelUntold = async (taskId: string): Promise<void> => {
    const task = get(taskId);
    if (!task || hasEnded(task)) return;
    await withWaiter([taskId], ABORT_WAITER, async () => {
      await sleep(clock, TASK_LIMITS.cancelAfterAbort);
      if (!stopped) await cancel([taskId]);
      const ended = get(taskId);
      return ended?.status === "cancelled" && !ended.error ? "known" : "news";
    });
  };

  const clear = async (taskIds: string[]): Promise<Task[]> => {
    const removed = taskIds.flatMap((taskId) => get(taskId) ?? []);
    const running = removed.filter((task) => !hasEnded(task)).map(({ sessionID }) => sessionID);
    await withWaiter(running, CLEAR_WAITER, async () => {
      await cancel(running);
      const below = launchedBy(taskIds);
      if (below.length > 0) await clear(below);
      // As they stand now: they have ended meanwhile, or another call has removed them, and has told of it.
      const ended = removed.flatMap(({ sessionID }) => get(sessionID) ?? []);
      store.remove(taskIds);
      runtime.forget(ended);
      return "known";
    });
    return removed;
  };

  return {
    cancel,
    cancelSilently: cancelUntold,
    clear,
    cancelChildren: orphan,
    untilEnded: (taskId) => untilEnded([taskId]),
    stop: () => {
      stopped = true;
    },
  };
};
