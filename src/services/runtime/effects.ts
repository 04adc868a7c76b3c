import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { Receipt } from "../../receipt.ts";

/** What carrying out an effect may need of the charts. */
export interface Charts {
  /** True while the task lives in this process: it is not at rest, and no other process has taken it over. */
  isStillOurs(taskId: string): boolean;
  /** The same, but asks the store first: another process may have taken the task over, or removed it, a moment ago. */
  confirmOurs(taskId: string): boolean;
  /** True for a task that lives in another process, or was removed there: its session here must be stopped, or the work is done twice. */
  isLost(taskId: string): boolean;
  /** True while tasks that this session launched, or a session below it, run, or their results are not delivered. */
  awaitsTasks(sessionID: string): boolean;
  /** True while runs of such tasks are under way. */
  awaitsRuns(sessionID: string): boolean;
  /** True while runs of this parent's tasks are under way. */
  hasRunningTasks(parentSessionID: string): boolean;
  /** The run whose prompt the task is sending, by the id of its first message. */
  runBeingSent(taskId: string): string | undefined;
  /** The instruction that the task is sending, by its message's id. */
  instructionBeingSent(taskId: string): string | undefined;
  /** The receipt of the newest run of a live task, once it is written. */
  receiptOf(taskId: string): Receipt | undefined;
}

/** Carries out what the charts ask for. */
export interface Effects {
  /** Returns the answer to an effect, where it is known without the host. */
  know(effect: Effect, charts: Charts): SupervisorEvent | undefined;
  /** Carries an effect out. What it returns, now or later, goes back to the charts. */
  perform(effect: Effect, charts: Charts): SupervisorEvent | undefined | Promise<SupervisorEvent | undefined>;
  /** Returns the event that says that `perform` threw; undefined where no chart waits for an answer. */
  onFault(effect: Effect, at: number, reason: string): SupervisorEvent | undefined;
}

/** Returns the event that ends a task's run because of a fault of ours. */
export const supervisionFailed = (at: number, reason: string): TaskEvent => ({
  type: "SUPERVISION_FAILED",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});
