import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";

/** Carries out what the charts ask for. */
export interface Effects {
  /** Returns the answer to an effect, where it is known without the host. */
  know(effect: Effect): SupervisorEvent | undefined;
  /** Carries an effect out. What it returns, now or later, goes back to the charts. */
  perform(effect: Effect): SupervisorEvent | undefined | Promise<SupervisorEvent | undefined>;
  /** Returns the event that says that `perform` threw; undefined where no chart waits for an answer. */
  onFault(effect: Effect, at: number, reason: string): SupervisorEvent | undefined;
}

/** Returns the event that ends a task's run because of a fault of ours. */
export const supervisionFailed = (at: number, reason: string): TaskEvent => ({
  type: "SUPERVISION_FAILED",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});
