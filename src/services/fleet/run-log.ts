import type { RemoteRun } from "../../machines/task/events.ts";
import { isNewer, isSameClaim } from "../../machines/task/setup.ts";
import type { Claim } from "../../task.ts";
import type { Broker, PlacedEntry } from "./broker.ts";
import type { EntryOf, RunName } from "./wire-messages.ts";

/** What the log of a run says. */
export interface RunLog {
  /** The place of its last entry, 0 where it is empty. */
  last: number;
  /** The claims, oldest first. Those after the run has ended do not count. */
  claims: { at: Claim; entry: EntryOf<"claimed"> }[];
  /** The entry that ended the run: of the worker whose claim was the newest then, or of the origin server. */
  ended: EntryOf<"ended"> | undefined;
  /** The requests of the agent of the newest claim, answered or not. */
  asked: EntryOf<"asked">["requests"];
  /** The replies since the newest claim. */
  replies: EntryOf<"replied">[];
  /** True where the origin server has asked for a stop since the newest claim. */
  isStopRequested: boolean;
  isReceived: boolean;
}

/** True for an entry that ends the run: the origin server's, or that of the newest claim. */
const counts = (ended: EntryOf<"ended">, newest: Claim | undefined): boolean =>
  ended.claim === undefined || isSameClaim(ended.claim, newest);

/** Sums up the entries of a log, oldest first. */
export const readLog = (entries: readonly PlacedEntry[]): RunLog => {
  const log: RunLog = {
    ...{ last: 0, claims: [], asked: [], replies: [] },
    ...{ ended: undefined, isStopRequested: false, isReceived: false },
  };
  for (const { at, entry } of entries) {
    log.last = at.seq;
    if (!entry) continue;
    if (entry.type === "received") log.isReceived = true;
    if (log.ended) continue;
    if (entry.type === "claimed") {
      log.claims.push({ at, entry });
      log.isStopRequested = false;
      log.asked = [];
      log.replies = [];
    }
    const newest = log.claims.at(-1)?.at;
    if (entry.type === "asked" && (newest === undefined || isSameClaim(entry.claim, newest)))
      log.asked = entry.requests;
    if (entry.type === "replied") log.replies.push(entry);
    if (entry.type === "stopRequested") log.isStopRequested = true;
    if (entry.type === "ended" && counts(entry, newest)) log.ended = entry;
  }
  return log;
};

/** Returns the requests of the agent that nobody has replied to. */
export const openRequestsIn = ({ asked, replies, ended }: RunLog): RunLog["asked"] =>
  ended ? [] : asked.filter(({ id }) => replies.every(({ requestId }) => requestId !== id));

/** True where a claim is no longer the one that counts. */
export const isSuperseded = (log: RunLog, claim: Claim): boolean => {
  const newest = log.claims.at(-1)?.at;
  return log.ended !== undefined || (newest !== undefined && isNewer(newest, claim));
};

/**
 * True where a log lacks the newest claim that the origin server knows: a broker that was set back to an older copy of its store
 * has forgotten it, and gives its place to another entry.
 */
export const hasForgotten = ({ claims }: RunLog, known: RemoteRun | undefined): boolean =>
  known !== undefined &&
  known.attempts.length > 0 &&
  !claims.some(({ at, entry }) => entry.server.id === known.server.id && isSameClaim(at, known.claim));

/** Reads the log of a run; undefined where the broker does not answer. */
export const findLog = async (broker: Broker, name: RunName): Promise<RunLog | undefined> => {
  const read = await broker.read(name);
  return read.is === "read" ? readLog(read.entries) : undefined;
};
