import type { HostEvent } from "../machines/supervisor-events.ts";
import { hasEnded, type Task } from "../task.ts";
import type { Clock } from "./clock.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store.ts";

export interface Patience {
  taskIds: string[];
  signal: AbortSignal;
  /** Milliseconds. */
  timeoutMs: number;
}

export interface WaitRequest extends Patience {
  /** The tool call that waits. Its answer tells the parent of the ends it waited for. */
  callID: string | undefined;
}

/** Why a wait is over. */
export type WaitOutcome = "ended" | "timedOut" | "aborted";

/** Tool calls that wait for tasks. A run's end is told by the call that waited for it, or else by a notice: never by both. */
export interface Waiting {
  wait(request: WaitRequest): Promise<WaitOutcome>;
  /** Waits for the ends alone: the parent is told of them as if nobody had waited. */
  untilOver(patience: Patience): Promise<WaitOutcome>;
  /** Learns from the host whether the answer of a call reached the conversation. */
  note(event: HostEvent): void;
}

/**
 * How long the host may take to store a tool's answer, in milliseconds (measured: under 50).
 * After that the ends count as untold: better told twice than never.
 */
const STORED_WITHIN = 10_000;

export const createWaiting = (runtime: Runtime, store: Store, clock: Clock): Waiting => {
  /** Calls whose answer is on its way into the conversation, with how to settle them. */
  const answering = new Map<string, (stored: boolean) => void>();

  const tell = (type: "WAIT_BEGAN" | "TOLD" | "LET_GO", taskIds: string[]) => {
    for (const taskId of taskIds) if (runtime.live(taskId)) runtime.send(taskId, { type, at: clock.now() });
  };

  const isOver = (taskId: string): boolean => {
    const record = store.get(taskId);
    return record === undefined || hasEnded(record.task);
  };

  const untilOver = ({ taskIds, signal, timeoutMs }: Patience): Promise<WaitOutcome> =>
    new Promise((resolve) => {
      const left = new Set(taskIds);
      const finish = (outcome: WaitOutcome) => {
        unsubscribe();
        callOff();
        signal.removeEventListener("abort", abort);
        resolve(outcome);
      };
      const abort = () => finish("aborted");
      const check = (taskId: string) => {
        if (isOver(taskId)) left.delete(taskId);
        if (left.size === 0) finish("ended");
      };
      // Subscribe, then check: an end in between is not missed.
      const unsubscribe = runtime.subscribe((task: Task) => check(task.sessionID));
      const callOff = clock.after(timeoutMs, () => finish("timedOut"));
      signal.addEventListener("abort", abort);
      if (signal.aborted) abort();
      else if (left.size === 0) finish("ended");
      else for (const taskId of taskIds) check(taskId);
    });

  /** The answer leaves the tool now; the ends in it are told once it is part of the conversation. */
  const answer = (callID: string, taskIds: string[]) => {
    const callOff = clock.after(STORED_WITHIN, () => settle(false));
    const settle = (stored: boolean) => {
      callOff();
      answering.delete(callID);
      tell(stored ? "TOLD" : "LET_GO", taskIds);
    };
    answering.set(callID, settle);
  };

  return {
    wait: async (request) => {
      const { taskIds, callID } = request;
      tell("WAIT_BEGAN", taskIds);
      const outcome = await untilOver(request);
      const over = taskIds.filter(isOver);
      const told = outcome === "aborted" ? [] : over;
      tell(
        "LET_GO",
        taskIds.filter((taskId) => !told.includes(taskId)),
      );
      if (callID === undefined) tell("TOLD", told);
      else if (told.length > 0) answer(callID, told);
      return outcome;
    },
    untilOver,
    note: (event) => {
      if (event.type === "toolCall" && event.stage !== "begun") answering.get(event.callID)?.(event.stage === "stored");
    },
  };
};
