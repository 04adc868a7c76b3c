/** A value, or why there is none, in words for the one who asked. */
export type Outcome<T> = { ok: true; value: T } | Refusal;

export interface Refusal {
  ok: false;
  reason: string;
  /** What it lies with, where that makes a difference: an agent that is not there, or the host. */
  liesWith: "agent" | "host" | undefined;
}

/** An outcome without a value. */
export const refuse = (reason: string, liesWith?: Refusal["liesWith"]): Refusal => ({ ok: false, reason, liesWith });
