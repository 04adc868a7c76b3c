import type { Account, Step } from "./account.ts";

/** Where a journal breaks a promise. */
export interface Breach {
  /** The number of the event in the journal, from 1; undefined where it is the snapshot that does not fit. */
  event: number | undefined;
  /** What is wrong there, in a sentence without its end. */
  what: string;
}

/** Something that holds of every journal. */
export interface JournalPromise {
  /** By which tests, documents and people call it. */
  name: string;
  /** What is promised, in a sentence. */
  says: string;
  breaches(account: Account): Breach[];
}

/** A breach at an event. */
export const at = ({ number }: Step, what: string): Breach => ({ event: number, what });

/** A breach in the snapshot. */
export const inSnapshot = (what: string): Breach => ({ event: undefined, what });
