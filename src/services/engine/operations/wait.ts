import type { HostEvent } from "../../../machines/host-events.ts";
import type { TaskEvent } from "../../../machines/task/events.ts";
import { hasEnded, type Task } from "../../../task.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Store } from "../../store/store.ts";

/** The waiter of a task that is being cleared, in place of a tool call's id. */
export const CLEAR_WAITER = "clearing";

/** The waiter of a task that runs for another server, in place of a tool call's id: that server is given the result. */
export const FLEET_WAITER = "fleet";

/**
 * The waiter of a task whose caller's turn was aborted, in place of a tool call's id. The caller's session knows that the
 * task ends, even if this process exits before that.
 */
export const ABORT_WAITER = "aborted";

/** True for an ended task that is no news to a session whose turn was aborted: it was cancelled, and nothing else happened. */
export const isKnownAfterAbort = ({ status, error }: Task): boolean => status === "cancelled" && !error;

/** Which tasks to wait for, and how long. */
interface WaitOptions {
  taskIds: string[];
  /** Ends the wait when the caller's turn is aborted. */
  signal: AbortSignal;
  /** Milliseconds; undefined: no limit. */
  timeoutMs: number | undefined;
}

/** A wait by a tool call whose output delivers the results to its session. */
interface WaitRequest extends WaitOptions {
  /** The session whose tool call waits. */
  sessionID: string;
  /** The id of that tool call, unique within its session only; undefined when the host did not give one. */
  callID: string | undefined;
}

/**
 * Why a wait ended. `aborted`: the caller's turn was aborted; `stopped`: this process stops all its waits; `elsewhere`: one
 * of the tasks ended in another process, or was taken over by it. Then this call delivers nothing, and notices deliver all.
 */
type WaitOutcome = "ended" | "timedOut" | "aborted" | "stopped" | "elsewhere";

/**
 * Milliseconds that the host may take to store the output of a call that has returned (measured: under 50). After that, the
 * results in it count as undelivered: delivering them twice is better than never.
 */
const STORE_TIMEOUT_MS = 10_000;

/**
 * Milliseconds that a timer may be late. One that is later shows that this process was suspended, and the host with it, which
 * then has its time once more.
 */
const LATE_MS = 1_000;

/** How the generated id of a call begins if the host did not give one. */
const NO_CALL_ID = "unnamed";

const callKey = (sessionID: string, callID: string): string => `${sessionID}/${callID}`;

/**
 * Creates the registry of tool calls that wait for tasks. A result is delivered either by the call that waited for it or by a
 * notice, never by both.
 */
export const createWaits = (runtime: Runtime, store: Store, clock: Clock) => {
  /** Calls whose output the host has not yet stored in the conversation. */
  const unstoredOutputs = new Map<
    string,
    {
      taskIds: readonly string[];
      /** Set where another process delivers what is in the output. */
      isRecalled: boolean;
      resolve(isStored: boolean): void;
      limit(): void;
      cancelTimeout(): void;
    }
  >();
  /** Number of calls without an id so far. Each gets a different one, so that ending one wait does not end another. */
  let unnamedCalls = 0;
  /** The open waits, with the session whose call each is, if it is one's. */
  const waits = new Set<{
    taskIds: readonly string[];
    caller: string | undefined;
    recheck(): void;
    finish(outcome: WaitOutcome): void;
  }>();
  let stopped = false;

  /** Sends an event about a waiting call to those of the tasks that are live. `call` is the call's id or a `…_WAITER`. */
  const sendToWaitedTasks = (
    type: "WAIT_BEGAN" | "WAIT_DELIVERED" | "WAIT_ABANDONED",
    call: string,
    taskIds: string[],
  ): void => {
    for (const taskId of taskIds) if (runtime.snapshotOf(taskId)) runtime.send(taskId, { type, at: clock.now(), call });
  };

  const isEnded = (taskId: string): boolean => {
    const record = store.get(taskId);
    return record === undefined || hasEnded(record.task);
  };

  /**
   * Waits until all tasks have ended, without delivering anything: notices are sent as if nobody had waited.
   * @param caller the session whose call waits, and lets go when another process has it; absent where no call does
   */
  const waitForEnd = ({ taskIds, signal, timeoutMs }: WaitOptions, caller?: string): Promise<WaitOutcome> =>
    new Promise((resolve) => {
      const remaining = new Set(taskIds);
      const finish = (outcome: WaitOutcome) => {
        unsubscribe();
        cancelTimeout();
        waits.delete(wait);
        signal.removeEventListener("abort", abort);
        resolve(outcome);
      };
      const abort = () => finish("aborted");
      const check = (taskId: string) => {
        if (!remaining.has(taskId)) return;
        if (isEnded(taskId)) remaining.delete(taskId);
        if (remaining.size === 0) finish("ended");
      };
      const recheck = () => {
        for (const taskId of [...remaining]) check(taskId);
      };
      const wait = { taskIds, caller, recheck, finish };
      // Subscribes before checking, so that no end is missed in between.
      const unsubscribe = runtime.subscribe((task: Task) => check(task.sessionID));
      const onTimeout = () => {
        // First drops the tasks that this process lost while it was suspended.
        runtime.renewLease();
        finish("timedOut");
      };
      const cancelTimeout = timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, onTimeout);
      signal.addEventListener("abort", abort);
      waits.add(wait);
      runtime.renewLease();
      if (stopped) finish("stopped");
      else if (signal.aborted) abort();
      else if (remaining.size === 0) finish("ended");
      else recheck();
    });

  /**
   * Marks the results as delivered once the host has stored the output of the call, or as undelivered if it does not. The
   * call may have more to do before it returns: to stop tasks, or to read a conversation.
   */
  const awaitStoredOutput = (sessionID: string, callID: string, taskIds: string[]) => {
    const call = callKey(sessionID, callID);
    unstoredOutputs.get(call)?.resolve(false);
    let cancelTimeout = (): void => undefined;
    const limit = () => {
      cancelTimeout();
      const due = clock.now() + STORE_TIMEOUT_MS;
      cancelTimeout = clock.after(STORE_TIMEOUT_MS, () => (clock.now() - due > LATE_MS ? limit() : resolve(false)));
    };
    const resolve = (isStored: boolean) => {
      cancelTimeout();
      unstoredOutputs.delete(call);
      sendToWaitedTasks(isStored ? "WAIT_DELIVERED" : "WAIT_ABANDONED", callID, taskIds);
    };
    unstoredOutputs.set(call, { taskIds, isRecalled: false, resolve, limit, cancelTimeout: () => cancelTimeout() });
  };

  /** Marks the task that calls, if one does, as blocked: it needs no slot meanwhile. Returns how to end that. */
  const block = (sessionID: string, call: string, taskIds: string[]): (() => void) => {
    const open = taskIds.filter((taskId) => !isEnded(taskId));
    const caller = open.length > 0 ? callingTask(sessionID, open) : undefined;
    if (caller === undefined) return () => undefined;
    const send = (event: TaskEvent) => {
      if (runtime.snapshotOf(caller)) runtime.send(caller, event);
    };
    send({ type: "CALL_BLOCKED", at: clock.now(), call, taskIds: open });
    return () => send({ type: "CALL_RETURNED", at: clock.now(), call });
  };

  /** Returns the task in whose session, or a descendant of it, a call waits for these tasks. */
  const callingTask = (sessionID: string, taskIds: string[]): string | undefined => {
    if (runtime.snapshotOf(sessionID)) return sessionID;
    const ofTasks = taskIds.flatMap((taskId) => runtime.snapshotOf(taskId)?.context.facts.parentTaskId ?? []);
    return ofTasks.find((taskId) => runtime.snapshotOf(taskId));
  };

  return {
    sendToWaitedTasks,
    /**
     * Waits until all tasks have ended. The output of the call delivers their results, so no notice follows: they count as
     * delivered once the host has stored it.
     */
    wait: async (request: WaitRequest): Promise<WaitOutcome> => {
      const { taskIds, sessionID, callID } = request;
      if (callID === undefined) unnamedCalls += 1;
      const call = callID ?? `${NO_CALL_ID}_${clock.now()}_${unnamedCalls}`;
      const waitedFor = new Set<string>();
      // A task without an actor has no undelivered result. During the wait, this process may take over another task.
      const register = (taskId: string) => {
        if (waitedFor.has(taskId) || !taskIds.includes(taskId) || !runtime.snapshotOf(taskId)) return;
        waitedFor.add(taskId);
        sendToWaitedTasks("WAIT_BEGAN", call, [taskId]);
      };
      const unsubscribe = runtime.subscribe(({ sessionID }) => register(sessionID));
      taskIds.forEach(register);
      const unblock = block(sessionID, call, taskIds);
      const open = taskIds.filter((taskId) => !isEnded(taskId));
      const over = await waitForEnd(request, sessionID);
      // Another process notifies the parent of what ended there, and knows nothing of this call.
      const endedElsewhere = open.some((taskId) => !waitedFor.has(taskId) && store.get(taskId) && isEnded(taskId));
      const outcome = over === "ended" && endedElsewhere ? "elsewhere" : over;
      unblock();
      unsubscribe();
      const returnsOutput = outcome === "ended" || outcome === "timedOut";
      const delivered = [...waitedFor].filter((taskId) => returnsOutput && isEnded(taskId));
      const abandoned = [...waitedFor].filter((taskId) => !delivered.includes(taskId));
      sendToWaitedTasks("WAIT_ABANDONED", call, abandoned);
      if (callID === undefined) sendToWaitedTasks("WAIT_DELIVERED", call, delivered);
      else if (delivered.length > 0) awaitStoredOutput(sessionID, callID, delivered);
      return outcome;
    },
    waitForEnd: (options: WaitOptions) => waitForEnd(options),
    /** Re-checks every open wait. A task owned by another process ends without an event in this one. */
    recheckAll: () => {
      for (const { recheck } of [...waits]) recheck();
    },
    /**
     * Gives the host a moment from now on to store the output of a call that returns. Returns false where the output must not
     * be stored: it has ends of tasks that another process took over meanwhile, and delivers.
     */
    onCallReturned: ({ sessionID, callID }: { sessionID: string; callID?: string | undefined }): boolean => {
      runtime.renewLease();
      const output = callID === undefined ? undefined : unstoredOutputs.get(callKey(sessionID, callID));
      if (output?.isRecalled) output.resolve(false);
      else output?.limit();
      return output?.isRecalled !== true;
    },
    /** Ends the waits of calls for tasks which another process has taken over, or whose own session is such a task. */
    onTasksLost: (taskIds: readonly string[]) => {
      const lost = new Set(taskIds);
      for (const { taskIds: waitedFor, caller, finish } of [...waits]) {
        if (caller !== undefined && [caller, ...waitedFor].some((id) => lost.has(id))) finish("elsewhere");
      }
      for (const output of unstoredOutputs.values()) output.isRecalled ||= output.taskIds.some((id) => lost.has(id));
    },
    /** Handles an event of the host, which may say whether the output of a call was stored in the conversation. */
    onHostEvent: (event: HostEvent) => {
      if (event.type !== "toolCall" || event.stage === "begun") return;
      unstoredOutputs.get(callKey(event.sessionID, event.callID))?.resolve(event.stage === "stored");
    },
    /** Ends all waits and their timers; later waits end at once. */
    stop: () => {
      stopped = true;
      for (const { finish } of [...waits]) finish("stopped");
      // The tasks know which calls waited, so the next process can ask the host whether their output was stored.
      for (const { cancelTimeout } of unstoredOutputs.values()) cancelTimeout();
    },
  };
};
