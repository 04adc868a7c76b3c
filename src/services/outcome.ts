/** A value, or why there is none, in words for the one who asked. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; reason: string };

/** An outcome without a value. */
export const refuse = (reason: string): { ok: false; reason: string } => ({ ok: false, reason });
