import type { RunEnd } from "./task-events.ts";

/** One message part of a prompt, its id chosen by us. Parts are stored in the order of their ids. */
export interface NoticePart {
  id: string;
  text: string;
  /** Sent to the model, hidden from the person. */
  synthetic: boolean;
}

/** A prompt to the parent that tells of one or more run ends. Formed once: sent again, it is the same to the letter. */
export interface NoticePrompt {
  messageID: string;
  parts: NoticePart[];
  runs: { taskId: string; run: number }[];
}

/** What an outbox wants done, as data. */
export type OutboxEffect =
  /** Find words and ids for what is owed. Answer: `FORMED`. */
  | { type: "form"; parentSessionID: string; owed: RunEnd[] }
  /** Send the prompt. Answer: `SENT` or `SEND_REFUSED`. */
  | { type: "send"; parentSessionID: string; prompt: NoticePrompt }
  /** Ask the host whether the parent has taken the prompt up. Answer: `CHECKED` or `CHECK_FAILED`. */
  | { type: "check"; parentSessionID: string; messageID: string }
  /** The notices of these runs are in a prompt. */
  | { type: "formed"; parentSessionID: string; ends: RunEnd[] }
  /** The parent was told of these runs. */
  | { type: "acknowledged"; parentSessionID: string; runs: NoticePrompt["runs"] };

/** Everything that can happen to an outbox. `at` is epoch milliseconds. */
export type OutboxEvent =
  | { type: "OWE"; at: number; end: RunEnd }
  | { type: "WITHDRAW"; at: number; taskId: string; run: number }
  | { type: "FORMED"; at: number; prompt: NoticePrompt }
  | { type: "SENT"; at: number; messageID: string }
  | { type: "SEND_REFUSED"; at: number; messageID: string; message: string }
  | { type: "CHECKED"; at: number; messageID: string; standing: "answered" | "pending" | "unanswered" }
  | { type: "CHECK_FAILED"; at: number; messageID: string; message: string }
  | { type: "PARENT_ANSWERED"; at: number; promptID: string }
  | { type: "PARENT_BUSY"; at: number }
  | { type: "PARENT_IDLE"; at: number }
  | { type: "PARENT_ERROR"; at: number }
  | { type: "PARENT_GONE"; at: number }
  | { type: "TICK"; at: number };

export interface OutboxContext {
  parentSessionID: string;
  /** Run ends that no prompt carries yet, in the order of their ends. */
  owed: RunEnd[];
  /** The prompt under way. */
  prompt: NoticePrompt | undefined;
  /** How often the prompt was sent. */
  sends: number;
  /** When the delivery has something to do, epoch milliseconds. */
  wakeAt: number | undefined;
  /** When the parent can take a prompt again, epoch milliseconds. */
  opensAt: number | undefined;
}
