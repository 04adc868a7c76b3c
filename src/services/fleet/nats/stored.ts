import { JetStreamApiError, type JetStreamClient, type JetStreamManager, type StoredMsg } from "@nats-io/jetstream";
import type { Placed } from "../bus.ts";
import { Entry, type RunName } from "../messages.ts";
import { RUNS, runSubject } from "./names.ts";

/** Reads a message as JSON; undefined where it is none. */
export const json = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
};

/** What the engine answers where another message came first. */
const WRONG_LAST_SEQUENCE = 10_071;

/**
 * Publishes a message, if the last one of its subject stands at `after` (0: if there is none; undefined: in any case). Returns
 * its own place; undefined where another one stands there. @throws Error with the engine's reason
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

/** Returns the id of the server that has a hold; empty where the message does not say it. */
export const holderIn = ({ data }: StoredMsg): string => (json(data) as { holder?: string } | undefined)?.holder ?? "";

/** Reads the log of a run, oldest entry first. `epoch` is when the logs were set up. @throws Error with the engine's reason */
export const readEntries = async (jsm: JetStreamManager, epoch: number, log: RunName): Promise<Placed[]> => {
  const subject = runSubject(log);
  const entries: Placed[] = [];
  for (let seq = 1; ; ) {
    const found: StoredMsg | null = await jsm.streams.getMessage(RUNS, { seq, next_by_subj: subject } as never);
    if (!found) return entries;
    entries.push({ at: { epoch, seq: found.seq }, entry: Entry.safeParse(json(found.data)).data });
    seq = found.seq + 1;
  }
};
