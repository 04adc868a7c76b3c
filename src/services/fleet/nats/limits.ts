import type { JetStreamManager } from "@nats-io/jetstream";
import { Limits, VERSION } from "../messages.ts";
import { LIMITS, LIMITS_SUBJECT } from "./names.ts";
import { json, publishAfter } from "./stored.ts";

/** How many tasks of a model may be at work in the whole fleet, by the model as `provider/model`; null for any number. */
export type ModelLimits = Limits["models"];

/** How often a change is tried where others change the limits as well. */
const ATTEMPTS = 20;

/** Limits, and the place of the message that says them: 0 where none does. */
export interface StoredLimits {
  models: ModelLimits;
  /** The names or ids of servers that are to take no more orders. */
  drained: readonly string[];
  seq: number;
}

/** Reads the limits; undefined where this version cannot read them. @throws Error with the engine's reason */
export const readLimits = async (jsm: JetStreamManager): Promise<StoredLimits | undefined> => {
  const found = await jsm.streams.getMessage(LIMITS, { last_by_subj: LIMITS_SUBJECT });
  if (!found) return { models: {}, drained: [], seq: 0 };
  const { data } = Limits.safeParse(json(found.data));
  return data && { models: data.models, drained: data.drained ?? [], seq: found.seq };
};

/** Writes the limits, if nobody has written any since `seq`. False where somebody has. */
const writeLimits = async (jsm: JetStreamManager, { models, drained, seq }: StoredLimits): Promise<boolean> => {
  const message: Limits = { v: VERSION, models, ...(drained.length > 0 ? { drained: [...drained] } : {}) };
  return (await publishAfter(jsm.jetstream(), LIMITS_SUBJECT, message, seq)) !== undefined;
};

/** What became of a change of limits. */
export type LimitsChange =
  | { is: "changed"; before: StoredLimits; after: StoredLimits }
  /** Another version has written them. */
  | { is: "unreadable" }
  /** Others have changed them again and again meanwhile. */
  | { is: "outrun" };

/**
 * Changes the limits: what `change` returns for those that are there now takes their place. It is asked again where somebody
 * else was faster, so that no change is lost. What it returns as it was is not written.
 * @throws Error with the engine's reason
 */
export const changeLimits = async (
  jsm: JetStreamManager,
  change: (limits: StoredLimits) => StoredLimits,
): Promise<LimitsChange> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await readLimits(jsm);
    if (!before) return { is: "unreadable" };
    const after = change(before);
    if (after === before || (await writeLimits(jsm, after))) return { is: "changed", before, after };
  }
  return { is: "outrun" };
};
