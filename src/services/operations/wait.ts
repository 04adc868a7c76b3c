import type { HostEvent } from "../../machines/supervisor/events.ts";
import { hasEnded, type Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";

/** What is waited for, and how long. */
export interface WaitOptions {
  taskIds: string[];
  signal: AbortSignal;
  /** Milliseconds; undefined: as long as it takes. */
  timeoutMs: number | undefined;
}

/** A wait of a tool call that will tell its session what it waited for. */
export interface WaitRequest extends WaitOptions {
  /** The session whose tool call waits. */
  sessionID: string;
  /** That call. Its answer tells the parent of the ends it waited for. Unique within its session, not beyond. */
  callID: string | undefined;
}

/** Why a wait is over: `aborted` is the caller's turn, `stopped` all that waits here. */
export type WaitOutcome = "ended" | "timedOut" | "aborted" | "stopped";

/** Tool calls that wait for tasks. A run's end is told by the call that waited for it, or else by a notice: never by both. */
export interface Waits {
  wait(request: WaitRequest): Promise<WaitOutcome>;
  /** Waits for the ends alone: the parent is told of them as if nobody had waited. */
  waitForEnd(patience: WaitOptions): Promise<WaitOutcome>;
  /** Looks again at what is waited for: a task of another process ends without a word here. */
  recheckAll(): void;
  /** Learns from the host whether the answer of a call reached the conversation. */
  onHostEvent(event: HostEvent): void;
  /** Ends all waits, and their timers; none begins any more. */
  stop(): void;
}

/**
 * How long the host may take to store a tool's answer, in milliseconds (measured: under 50).
 * After that the ends count as untold: better told twice than never.
 */
const STORE_TIMEOUT_MS = 10_000;

/** How calls are called of which the host did not say which they are. */
const NO_CALL_ID = "unnamed";

const callKey = (sessionID: string, callID: string): string => `${sessionID}/${callID}`;

/** Tells live tasks of a call, or of what stands for one, that waits for them. */
export const createWaitEvents =
  (runtime: Runtime, clock: Clock) =>
  (type: "WAIT_BEGAN" | "WAIT_DELIVERED" | "WAIT_ABANDONED", call: string, taskIds: string[]): void => {
    for (const taskId of taskIds) if (runtime.snapshotOf(taskId)) runtime.send(taskId, { type, at: clock.now(), call });
  };

/** Nobody waits yet. */
export const createWaits = (runtime: Runtime, store: Store, clock: Clock): Waits => {
  /** Calls whose answer is on its way into the conversation, with how to settle them. */
  const answering = new Map<string, { settle(stored: boolean): void; callOff(): void }>();
  /** How many calls without a name there were: each gets one of its own, or one would let go what another waits for. */
  let unnamed = 0;
  const waits = new Set<{ stop(): void; recheck(): void }>();
  let stopped = false;

  const tell = createWaitEvents(runtime, clock);

  const isOver = (taskId: string): boolean => {
    const record = store.get(taskId);
    return record === undefined || hasEnded(record.task);
  };

  const waitForEnd = ({ taskIds, signal, timeoutMs }: WaitOptions): Promise<WaitOutcome> =>
    new Promise((resolve) => {
      const left = new Set(taskIds);
      const finish = (outcome: WaitOutcome) => {
        unsubscribe();
        callOff();
        waits.delete(wait);
        signal.removeEventListener("abort", abort);
        resolve(outcome);
      };
      const abort = () => finish("aborted");
      const check = (taskId: string) => {
        if (!left.has(taskId)) return;
        if (isOver(taskId)) left.delete(taskId);
        if (left.size === 0) finish("ended");
      };
      const recheck = () => {
        for (const taskId of [...left]) check(taskId);
      };
      const wait = { stop: () => finish("stopped"), recheck };
      // Subscribe, then check: an end in between is not missed.
      const unsubscribe = runtime.subscribe((task: Task) => check(task.sessionID));
      const callOff = timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, () => finish("timedOut"));
      signal.addEventListener("abort", abort);
      waits.add(wait);
      if (stopped) finish("stopped");
      else if (signal.aborted) abort();
      else if (left.size === 0) finish("ended");
      else recheck();
    });

  /** The answer leaves the tool now; the ends in it are told once it is part of the conversation. */
  const awaitStoredOutput = (sessionID: string, callID: string, taskIds: string[]) => {
    const call = callKey(sessionID, callID);
    answering.get(call)?.settle(false);
    const callOff = clock.after(STORE_TIMEOUT_MS, () => settle(false));
    const settle = (stored: boolean) => {
      callOff();
      answering.delete(call);
      tell(stored ? "WAIT_DELIVERED" : "WAIT_ABANDONED", callID, taskIds);
    };
    answering.set(call, { settle, callOff });
  };

  return {
    wait: async (request) => {
      const { taskIds, sessionID, callID } = request;
      if (callID === undefined) unnamed += 1;
      const call = callID ?? `${NO_CALL_ID}_${clock.now()}_${unnamed}`;
      const counted = new Set<string>();
      // A task at rest is not counted: nothing of it is owed. One may be taken over while it is waited for.
      const count = (taskId: string) => {
        if (counted.has(taskId) || !taskIds.includes(taskId) || !runtime.snapshotOf(taskId)) return;
        counted.add(taskId);
        tell("WAIT_BEGAN", call, [taskId]);
      };
      const unsubscribe = runtime.subscribe(({ sessionID }) => count(sessionID));
      taskIds.forEach(count);
      const outcome = await waitForEnd(request);
      unsubscribe();
      const over = [...counted].filter(isOver);
      const told = outcome === "ended" || outcome === "timedOut" ? over : [];
      tell(
        "WAIT_ABANDONED",
        call,
        [...counted].filter((taskId) => !told.includes(taskId)),
      );
      if (callID === undefined) tell("WAIT_DELIVERED", call, told);
      else if (told.length > 0) awaitStoredOutput(sessionID, callID, told);
      return outcome;
    },
    waitForEnd,
    recheckAll: () => {
      for (const { recheck } of [...waits]) recheck();
    },
    onHostEvent: (event) => {
      if (event.type !== "toolCall" || event.stage === "begun") return;
      answering.get(callKey(event.sessionID, event.callID))?.settle(event.stage === "stored");
    },
    stop: () => {
      stopped = true;
      for (const { stop } of [...waits]) stop();
      // Whether those answers reach the conversation, the next process asks the host: the tasks know who waited.
      for (const { callOff } of answering.values()) callOff();
    },
  };
};
