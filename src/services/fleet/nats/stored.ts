import { JetStreamApiError, type JetStreamClient, type JetStreamManager, type StoredMsg } from "@nats-io/jetstream";
import type { PlacedEntry } from "../broker.ts";
import { Entry, Limits, type RunName, VERSION } from "../wire-messages.ts";
import { LIMITS, LIMITS_SUBJECT, RUNS, runSubject } from "./streams.ts";

/** Reads a message as JSON; undefined where it is none. */
export const json = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
};

/** The code of the answer to a message that another one came before. */
const WRONG_LAST_SEQUENCE = 10_071;

/**
 * Publishes a message, if the last one of its subject stands at `after` (0: if there is none; undefined: in any case). Returns
 * its own place; undefined where the last one stands elsewhere. @throws Error with the broker's reason
 */
export const publishAfter = async (
  js: JetStreamClient,
  subject: string,
  body: object,
  after: number | undefined,
): Promise<number | undefined> => {
  try {
    const expect = after === undefined ? {} : { expect: { lastSubjectSequence: after } };
    const { seq } = await js.publish(subject, JSON.stringify(body), expect);
    return seq;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === WRONG_LAST_SEQUENCE) return undefined;
    throw error;
  }
};

/** Returns the id of the server that has a lease; empty where the message does not say it. */
export const holderIn = ({ data }: StoredMsg): string => (json(data) as { holder?: string } | undefined)?.holder ?? "";

/** Reads the log of a run, oldest entry first. `epoch` is when the logs were set up. @throws Error with the broker's reason */
export const readEntries = async (jsm: JetStreamManager, epoch: number, log: RunName): Promise<PlacedEntry[]> => {
  const subject = runSubject(log);
  const entries: PlacedEntry[] = [];
  for (let seq = 1; ; ) {
    const found: StoredMsg | null = await jsm.streams.getMessage(RUNS, { seq, next_by_subj: subject } as never);
    if (!found) return entries;
    entries.push({ at: { epoch, seq: found.seq }, entry: Entry.safeParse(json(found.data)).data });
    seq = found.seq + 1;
  }
};

/** How many tasks of a model may run at once in the whole fleet, by the model as `provider/model`; null for any number. */
export type ModelLimits = Limits["models"];

/** How often a change is tried where others change the limits as well. */
const ATTEMPTS = 20;

/** The limits, and the place of their message: 0 where there is none. */
export interface StoredLimits {
  models: ModelLimits;
  /** The names or ids of servers that take no more jobs. */
  drained: readonly string[];
  seq: number;
}

/** Reads the limits; undefined where this version cannot read them. @throws Error with the broker's reason */
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

/** The outcome of a change of limits. */
export type LimitsChange =
  | { is: "changed"; before: StoredLimits; after: StoredLimits }
  /** Another version has written them. */
  | { is: "unreadable" }
  /** Others have changed them at each attempt. */
  | { is: "conflict" };

/**
 * Replaces the limits by what `change` returns for the present ones, unless that is the same object. `change` is called again where
 * somebody else was faster, so that no change is lost.
 * @throws Error with the broker's reason
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
  return { is: "conflict" };
};
