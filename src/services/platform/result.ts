/** A value, or why there is none, in words for the one who asked. */
export type Outcome<T> = { ok: true; value: T } | Failure;

export interface Failure {
  ok: false;
  reason: string;
  /** What it lies with, where that makes a difference: an agent that is not there, or the host. */
  cause: "agent" | "host" | undefined;
}

/** An outcome without a value. */
export const fail = (reason: string, liesWith?: Failure["cause"]): Failure => ({ ok: false, reason, cause: liesWith });
