import type { Claim } from "../../task.ts";
import type { Entry, Order, RunName } from "./messages.ts";
import type { Answer, AnswerTo, Presence, Question } from "./questions.ts";

/*
 * The port to the engine of a fleet: all that its servers need of it. The engine may be away, and it may forget: then what
 * is open at home is ordered again. It decides one thing alone, in which order entries come into a log and holds are taken.
 */

/** The engine did not answer, or refused; what was asked may have been done all the same, unless it `refused`. */
export interface BusFailure {
  is: "unavailable" | "refused";
  message: string;
}

/** An entry of a log with its place, which is the claim where the entry is one. */
export interface Placed {
  at: Claim;
  /** Undefined: another version has written it, and it cannot be read here. */
  entry: Entry | undefined;
}

/** An order that was taken. Unless it is renewed within the lease, another server gets it. */
export interface Delivery {
  order: Order;
  renew(): Promise<void>;
  /** Removes the order for good. */
  done(): Promise<void>;
  /** Gives the order back, to be taken after so many milliseconds. */
  putBack(afterMs: number): Promise<void>;
}

/** What orders are taken by: those of one pool, of one priority, and under one limit. */
export interface Queue {
  pool: string;
  /** From 0, which is taken first, to 2. */
  priority: number;
  /** The model whose limit counts, as `provider/model`; empty where none does. */
  key: string;
}

/** A hold: who has it, and its place, by which it is renewed and dropped. */
export interface Hold {
  holder: string;
  seq: number;
}

/** Milliseconds for which an answer of another server is waited for. */
export const ANSWERED_WITHIN = 2_000;

/** Milliseconds for which servers may say that they are there. One that is busy may take part of a second. */
export const PRESENT_WITHIN = 500;

/** How many answers are taken at most of those who say that they are there. Anybody in the account can give any number. */
export const MOST_PRESENT = 200;

/** A connection to the engine of a fleet. Its calls never throw. */
export interface Bus {
  /** Milliseconds for which a hold and a taken order stay without being renewed; the usual ones until the engine is reached. */
  readonly lease: number;
  /** Adds an entry to the log of a run, if nothing came after `after` (0: if the log is empty). Undefined: in any case. */
  append(
    log: RunName,
    entry: Entry,
    after: number | undefined,
  ): Promise<{ is: "stored"; at: Claim } | { is: "outrun" } | BusFailure>;
  /** Reads the log of a run, oldest entry first. */
  read(log: RunName): Promise<{ is: "read"; entries: Placed[] } | BusFailure>;
  /** Calls `listener` when an entry may have come into a log of this home: a hint, which may be missed, or wrong. */
  onEntryAt(home: string, listener: (log: RunName) => void): () => void;
  /** The same of the log of one run. */
  onEntryIn(log: RunName, listener: () => void): () => void;
  /** Queues an order. One that is there already stays as it is. */
  offer(order: Order): Promise<{ is: "stored" } | BusFailure>;
  /** True while the order of a run is queued, or taken and not done. */
  isOffered(order: Order): Promise<{ is: "read"; isOffered: boolean } | BusFailure>;
  /** Takes the oldest order of a queue; undefined where there is none. */
  take(queue: Queue): Promise<{ is: "taken"; delivery: Delivery | undefined } | BusFailure>;
  /** Takes a hold that nobody has (`after` 0), or renews one (`after`: its place). */
  hold(
    name: string,
    holder: string,
    after: number,
  ): Promise<{ is: "held"; seq: number } | { is: "outrun" } | BusFailure>;
  /** Says who has a hold. */
  holder(name: string): Promise<{ is: "read"; hold: Hold | undefined } | BusFailure>;
  /** Gives a hold up. */
  drop(name: string, seq: number): Promise<void>;
  /**
   * Reads how many tasks of a model may be at work in the whole fleet, by the model as `provider/model` (null: any number,
   * though there was a limit once, under which orders may still be queued), and which servers are to take no more orders.
   */
  limits(): Promise<
    { is: "read"; limits: Readonly<Record<string, number | null>>; drained: readonly string[] } | BusFailure
  >;
  /** Tells all who listen that something is to be done, and about what; a hint, which may be missed. */
  ring(bell: string, about?: string): void;
  onBell(bell: string, listener: (about: string) => void): () => void;
  /** Asks those who answer for a server. `silent`: for `ANSWERED_WITHIN` nobody did. Nothing of it is stored. */
  ask<Asked extends Question>(
    server: string,
    question: Asked,
  ): Promise<{ is: "answered"; answer: AnswerTo<Asked> } | { is: "silent" } | BusFailure>;
  /**
   * Asks all who work for others who is there, and returns what they say within `PRESENT_WITHIN`, in any order, at most
   * `MOST_PRESENT`. `refused`: this server may not ask.
   */
  presences(): Promise<{ is: "read"; presences: Presence[] } | BusFailure>;
  /**
   * Has `answer` answer for a server, or with `EVERYBODY` what all are asked. Undefined leaves the question to another process
   * of the same server, which may know better. It must not reject.
   */
  onAsked(server: string, answer: (question: Question) => Promise<Answer | undefined>): () => void;
  /** Calls `listener` whenever the engine is reached, the first time and each time after: hints may have been missed. */
  onReached(listener: () => void): () => void;
  close(): Promise<void>;
}
