/** A value, or the reason why there is none. Expected failures are returned like this, not thrown. */
export type Outcome<T> = { ok: true; value: T } | Failure;

export interface Failure {
  ok: false;
  /** A sentence for the agent or the person who asked. */
  reason: string;
  /** What caused the failure, where callers handle that differently: an unknown or disabled agent, or the host. */
  cause: "agent" | "host" | undefined;
}

/**
 * Creates a failure.
 * @example
 * if (!task) return fail(own`There is no task ${nameOf(taskId)}.`);
 */
export const fail = (reason: string, cause?: Failure["cause"]): Failure => ({ ok: false, reason, cause });
