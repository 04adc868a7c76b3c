import type { Claim } from "../../task.ts";
import type { Answer, AnswerTo, Presence, Question } from "./questions.ts";
import type { Entry, Job, RunName } from "./wire-messages.ts";

/*
 * The port to the broker of a fleet, the server that passes messages on: all that the fleet needs of it. The broker may be
 * unreachable, and it may forget: then the origin servers queue their open runs again. It decides one thing alone, in which order
 * entries come into a log and leases are acquired.
 */

/** The broker did not answer, or refused. A call that was not `refused` may have taken effect all the same. */
export interface BrokerFailure {
  is: "unavailable" | "refused";
  message: string;
}

/** An entry of a log with its place in it. The place of a `claimed` entry is the claim. */
export interface PlacedEntry {
  at: Claim;
  /** Undefined where another version has written it, and it cannot be read here. */
  entry: Entry | undefined;
}

/** A job that was taken. Another server gets it unless it is renewed within `leaseMs`. */
export interface Delivery {
  job: Job;
  renew(): Promise<void>;
  /** Removes the job for good. */
  done(): Promise<void>;
  /** Puts the job back into its queue, to be taken again after so many milliseconds. */
  requeue(afterMs: number): Promise<void>;
}

/** Names a queue: the jobs of one pool, of one priority, and under one limit. */
export interface Queue {
  pool: string;
  /** From 0, which is taken first, to 2. */
  priority: number;
  /** The model whose limit counts, as `provider/model`; empty where none does. */
  key: string;
}

/** A lease: its holder, and the place by which it is renewed and released. */
interface Lease {
  holder: string;
  seq: number;
}

/** Milliseconds until a question that nobody has answered counts as unanswered. */
export const ANSWERED_WITHIN = 2_000;

/** Milliseconds within which workers answer that they are present. One that is busy may take part of a second. */
export const PRESENT_WITHIN = 500;

/** The most answers that are read of workers that are present. Anybody in the account can give any number. */
export const MOST_PRESENT = 200;

/** A connection to the broker of a fleet. Its calls never throw. */
export interface Broker {
  /** Milliseconds after which a lease or a taken job expires unless it is renewed. The usual ones until the broker is reached. */
  readonly leaseMs: number;
  /** Appends an entry to the log of a run, if its last entry stands at `after` (0: if the log is empty). Undefined: in any case. */
  append(
    log: RunName,
    entry: Entry,
    after: number | undefined,
  ): Promise<{ is: "stored"; at: Claim } | { is: "conflict" } | BrokerFailure>;
  /** Reads the log of a run, oldest entry first. */
  read(log: RunName): Promise<{ is: "read"; entries: PlacedEntry[] } | BrokerFailure>;
  /** Calls `listener` when an entry may have come into a log of this origin server: a hint, which may be missed, or wrong. */
  onEntryAt(origin: string, listener: (log: RunName) => void): () => void;
  /** The same for the log of one run. */
  onEntryIn(log: RunName, listener: () => void): () => void;
  /** Queues a job. One that is there already stays as it is. */
  enqueue(job: Job): Promise<{ is: "stored" } | BrokerFailure>;
  /** True while a job is queued, or taken and not done. */
  isQueued(job: Job): Promise<{ is: "read"; isQueued: boolean } | BrokerFailure>;
  /** Takes the oldest job of a queue; undefined where there is none. */
  take(queue: Queue): Promise<{ is: "taken"; delivery: Delivery | undefined } | BrokerFailure>;
  /** Acquires a lease that nobody has (`after` 0), or renews one (`after`: its place). */
  acquire(
    name: string,
    holder: string,
    after: number,
  ): Promise<{ is: "held"; seq: number } | { is: "conflict" } | BrokerFailure>;
  /** Returns who has a lease. */
  holder(name: string): Promise<{ is: "read"; lease: Lease | undefined } | BrokerFailure>;
  release(name: string, seq: number): Promise<void>;
  /**
   * Reads how many tasks of a model may run at once in the whole fleet, by the model as `provider/model` (null: any number,
   * though there was a limit once, under which jobs may still be queued), and which servers take no more jobs.
   */
  limits(): Promise<
    { is: "read"; limits: Readonly<Record<string, number | null>>; drained: readonly string[] } | BrokerFailure
  >;
  /** Sends a payload to all listeners of a topic: a hint, which may be missed. Nothing of it is stored. */
  notify(topic: string, payload?: string): void;
  onNotified(topic: string, listener: (payload: string) => void): () => void;
  /** Asks those who answer for a server. `silent`: nobody did within `ANSWERED_WITHIN`. Nothing of it is stored. */
  ask<Asked extends Question>(
    server: string,
    question: Asked,
  ): Promise<{ is: "answered"; answer: AnswerTo<Asked> } | { is: "silent" } | BrokerFailure>;
  /**
   * Asks which workers are present. Returns what they answer within `PRESENT_WITHIN`, in any order, at most `MOST_PRESENT` of
   * them. `refused`: this server may not ask.
   */
  presences(): Promise<{ is: "read"; presences: Presence[] } | BrokerFailure>;
  /**
   * Answers questions to a server with `answer`, or with `EVERYBODY` as the server those to all. Undefined leaves a question to
   * another process of the same server, which may know better. `answer` must not reject.
   */
  onAsked(server: string, answer: (question: Question) => Promise<Answer | undefined>): () => void;
  /** Calls `listener` whenever the broker is reached, the first time and each time after: hints may have been missed. */
  onReached(listener: () => void): () => void;
  close(): Promise<void>;
}

/** Returns a lease that `holder` took at that place; 0 where it may have been lost since. */
export const heldLease = (broker: Broker, name: string, holder: string, place: number) => {
  let seq = place;
  let isReleased = false;
  let renewal: Promise<unknown> = Promise.resolve();
  const acquire = async (after: number) => {
    const held = await broker.acquire(name, holder, after);
    if (held.is === "held") seq = held.seq;
    return held.is;
  };
  const renew = async (isWanted: () => Promise<boolean | undefined>): Promise<"kept" | "lost" | "unknown"> => {
    // One that a process before this one took may have expired: then it is acquired only where it is still wanted.
    const renewed = seq === 0 ? "conflict" : await acquire(seq);
    if (renewed === "held") return "kept";
    if (renewed !== "conflict") return "unknown";
    const now = await broker.holder(name);
    if (now.is !== "read") return "unknown";
    if (now.lease && now.lease.holder !== holder) return "lost";
    const isStillWanted = now.lease !== undefined || (await isWanted());
    if (!isStillWanted) return isStillWanted === undefined ? "unknown" : "lost";
    // It has expired, or an answer was lost: it is acquired at its present place.
    const again = await acquire(now.lease?.seq ?? 0);
    return again === "held" ? "kept" : "unknown";
  };
  return {
    name,
    holder,
    /**
     * Keeps it for another period. `lost`: somebody else has it, or it is released. `unknown`: the broker did not answer.
     * @param isWanted whether it is to be taken again where it has expired: somebody else may have had it, and be about to take it
     * again as well. Undefined: that could not be found out. Default: it is
     */
    renew: async (isWanted: () => Promise<boolean | undefined> = async () => true) => {
      if (isReleased) return "lost";
      const renewing = renew(isWanted);
      const earlier = renewal;
      renewal = renewing.then(
        () => earlier,
        () => earlier,
      );
      return renewing;
    },
    /** Waits for a renewal that is under way: carried out after the release, it would take the lease again. */
    release: async () => {
      isReleased = true;
      await renewal;
      return broker.release(name, seq);
    },
  };
};

/** A lease that this server has taken. */
export type HeldLease = ReturnType<typeof heldLease>;

/*
 * The limits of a fleet: how many tasks of a model run at once on all its servers together. Each limit has as many leases, the
 * permits, and whoever works on such a task holds one of them.
 */

const permitName = (key: string, index: number): string => `limit.${key}.${index}`;

/** Takes a permit for a task of that key; `holder` is nobody else's. Undefined: all are taken, or the broker does not answer. */
export const takePermit = async (
  broker: Broker,
  key: string,
  limit: number,
  holder: string,
): Promise<HeldLease | undefined> => {
  // Not all begin with the same one.
  const first = [...holder].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  for (let step = 0; step < limit; step += 1) {
    const name = permitName(key, (first + step) % limit);
    const held = await broker.acquire(name, holder, 0);
    if (held.is === "held") return heldLease(broker, name, holder, held.seq);
    if (held.is !== "conflict") return undefined;
  }
  return undefined;
};
