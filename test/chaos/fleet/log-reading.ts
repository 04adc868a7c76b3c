import type { Entry, EntryOf } from "../../../src/services/fleet/wire-messages.ts";
import type { Claim } from "../../../src/task.ts";

/*
 * What the log of a run says, read for the checks: not by the code that is checked.
 */

/** What the log of a run says. */
export interface ReadLog {
  claims: { at: Claim; entry: EntryOf<"claimed"> }[];
  /** The end that counts: the first that the origin wrote, or the server whose claim was the newest. */
  ended: EntryOf<"ended"> | undefined;
  /** True where the origin has asked for a stop since the newest claim. */
  isStopRequested: boolean;
  isReceived: boolean;
}

const isSame = (one: Claim, other: Claim): boolean => one.epoch === other.epoch && one.seq === other.seq;

/** Reads the entries of a log, oldest first. */
export const readPlaces = (places: readonly { at: Claim; entry: Entry }[]): ReadLog => {
  const log: ReadLog = { claims: [], ended: undefined, isStopRequested: false, isReceived: false };
  for (const { at, entry } of places) {
    if (entry.type === "received") log.isReceived = true;
    if (log.ended) continue;
    if (entry.type === "claimed") {
      log.claims.push({ at, entry });
      log.isStopRequested = false;
    }
    if (entry.type === "stopRequested") log.isStopRequested = true;
    const newest = log.claims.at(-1)?.at;
    if (entry.type === "ended" && (!entry.claim || (newest && isSame(entry.claim, newest)))) log.ended = entry;
  }
  return log;
};
