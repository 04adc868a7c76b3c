import type { Prompt } from "../../../machines/task/events.ts";
import { atMost } from "../../platform/concurrency.ts";
import type { Outcome } from "../../platform/result.ts";
import type { OwnText } from "../../text/own-text.ts";
import type { Launched, LaunchPlan, LaunchRequest } from "../requests.ts";

/**
 * Sessions that are created at a time. An agent may launch hundreds in one message: where the host is slow, each of those
 * calls would otherwise spend its time waiting for the others, and be given up. Fewer at a time would mix the first tasks'
 * work into the launching turn, which makes it longer (a hundred launches by 40 % where 20 were created at a time, measured).
 */
const MOST_AT_A_TIME = 100;

/** A launch that has not led to a task yet. */
interface LaunchUnderWay {
  parentSessionID: string;
  /** The batch that its task joins; undefined until that is decided. */
  batchId?: string;
  /** Aborted when the launch is cancelled. */
  signal: AbortSignal;
  cancel(): void;
}

/** What a launch is about, while its chart decides what is done for it. */
export interface LaunchCall {
  request: LaunchRequest;
  plan: LaunchPlan;
  /** Aborted when the caller's turn is aborted, or the launch is cancelled. */
  signal: AbortSignal;
  /** When its chart began, epoch milliseconds. */
  at: number;
  /** What the agent is to read before its first prompt; undefined until that is known. */
  preamble?: OwnText | undefined;
  /** The same as a message, once it was sent. */
  preambleMessage?: Omit<Prompt, "noReply"> | undefined;
  /** The answer to the call. */
  answered: Promise<Outcome<Launched>>;
  answer(answer: Outcome<Launched>): void;
  /** The call fails with an error: a fault of ours. */
  fail(error: Error): void;
}

/** Creates the record of launches that have not led to a task yet: an agent may begin many at once. */
export const createLaunchesUnderWay = () => {
  const launches = new Set<LaunchUnderWay>();
  const calls = new Map<string, LaunchCall>();
  /** The launch that deletes each copy, by the id of its first prompt. Of the few that are deleted, none is forgotten. */
  const copies = new Map<string, string>();
  let isStopped = false;
  const of = (parentSessionID: string) => [...launches].filter((launch) => launch.parentSessionID === parentSessionID);
  return {
    /** Returns the launches of a session. */
    of,
    /** Counts a launch until `work` is done. */
    during: async <T>(parentSessionID: string, work: (launch: LaunchUnderWay) => Promise<T>): Promise<T> => {
      const abort = new AbortController();
      if (isStopped) abort.abort();
      const launch: LaunchUnderWay = { parentSessionID, signal: abort.signal, cancel: () => abort.abort() };
      launches.add(launch);
      return work(launch).finally(() => launches.delete(launch));
    },
    /** Notes what a launch is about, until its call is answered. `id` is that of its chart. */
    begin: (id: string, call: Pick<LaunchCall, "request" | "plan" | "signal" | "at">): Promise<Outcome<Launched>> => {
      const { promise: answered, resolve, reject } = Promise.withResolvers<Outcome<Launched>>();
      const answer = (given: Outcome<Launched>) => {
        calls.delete(id);
        resolve(given);
      };
      const fail = (error: Error) => {
        calls.delete(id);
        reject(error);
      };
      calls.set(id, { ...call, answered, answer, fail });
      return answered;
    },
    /** Returns what a launch is about; undefined for one that has been answered. */
    find: (id: string): LaunchCall | undefined => calls.get(id),
    /** Returns what a launch is about. @throws Error for one that has been answered, of which nothing is to be done */
    callOf: (id: string): LaunchCall => {
      const call = calls.get(id);
      if (!call) throw new Error(`The launch ${id} is over.`);
      return call;
    },
    /**
     * Takes copies of a conversation for a launch that is to delete them, and returns those that no other launch has taken. Nothing
     * in a copy without a mark says which launch of a turn asked for it. But each asked for one: where two took the same for theirs,
     * nobody would look for the other one.
     */
    takeCopies: (sessionIDs: readonly string[], messageID: string): string[] =>
      sessionIDs.filter((sessionID) => {
        const taker = copies.get(sessionID) ?? messageID;
        copies.set(sessionID, taker);
        return taker === messageID;
      }),
    /** Runs the creation of a session when few enough others are under way. */
    inTurn: atMost(MOST_AT_A_TIME),
    /** Cancels the launches of a session that was stopped or deleted. */
    cancel: (parentSessionID: string) => {
      for (const launch of of(parentSessionID)) launch.cancel();
    },
    /** Cancels all launches, and those that are begun later. */
    stop: () => {
      isStopped = true;
      for (const launch of launches) launch.cancel();
    },
  };
};
