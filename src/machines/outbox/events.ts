import type { ModelRef } from "../../task.ts";
import type { RunResult } from "../task/events.ts";

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
  /** What the person is shown when the prompt has gone out, once. */
  toasts: { message: string; variant: "success" | "error" | "info" }[];
}

/** Who a prompt to the parent goes out as: what the parent works with now. */
export interface Sender {
  agent: string | undefined;
  model: ModelRef | undefined;
}

/** What an outbox wants done, as data. */
export type OutboxEffect =
  /**
   * Read what the parent works with. Answer: `PARENT_READ`, `READ_FAILED` or `PARENT_NOT_FOUND`. `wasRefused`: the host
   * refused the prompt before, perhaps for an agent that it has no more; then the sender is to have none.
   */
  | { type: "readParent"; parentSessionID: string; wasRefused: boolean }
  /** Find words and ids for what is owed. Answer, at once: `COMPOSED`. */
  | { type: "composeNotice"; parentSessionID: string; queue: RunResult[] }
  /** Send the prompt. Answer: `SENT`, `SEND_REFUSED` or `PARENT_NOT_FOUND`. */
  | { type: "sendNotice"; parentSessionID: string; prompt: NoticePrompt; sender: Sender }
  /** Ask the host whether the parent has taken the prompt up. Answer: `CHECKED`, `CHECK_FAILED` or `PARENT_NOT_FOUND`. */
  | { type: "checkNotice"; parentSessionID: string; messageID: string }
  /** Find out whether the parent session is deleted. Answer: `PARENT_FOUND`, `PARENT_CLOSED` or `SEARCH_FAILED`. */
  | { type: "findParent"; parentSessionID: string }
  /** The notices of these runs are in a prompt. */
  | { type: "noticeComposed"; parentSessionID: string; runs: NoticePrompt["runs"] }
  /** The prompt has gone out: show the person. */
  | { type: "showToasts"; parentSessionID: string; toasts: NoticePrompt["toasts"] }
  /** The host refused the prompt for good: the person is to know that the parent was not told of these runs, and why. */
  | { type: "noticeRejected"; parentSessionID: string; runs: NoticePrompt["runs"]; reason: string }
  /** Nobody is told of these runs: the parent is gone, or takes no prompt. */
  | { type: "noticeDropped"; parentSessionID: string; runs: NoticePrompt["runs"] }
  /** The parent was told of these runs. */
  | { type: "noticeAcknowledged"; parentSessionID: string; runs: NoticePrompt["runs"] };

/** Everything that can happen to an outbox. `at` is epoch milliseconds. */
export type OutboxEvent =
  | { type: "NOTICE_DUE"; at: number; end: RunResult }
  | { type: "ADOPTED"; at: number; prompts: NoticePrompt[] }
  | { type: "WITHDRAW"; at: number; taskId: string; run: number }
  | { type: "PARENT_READ"; at: number; sender: Sender }
  | { type: "READ_FAILED"; at: number; message: string }
  | { type: "COMPOSED"; at: number; prompt: NoticePrompt }
  | { type: "COMPOSE_FAILED"; at: number; message: string }
  | { type: "SENT"; at: number; messageID: string }
  /** Not `retryable`: the same call would be refused again. */
  | { type: "SEND_REFUSED"; at: number; messageID: string; message: string; retryable: boolean }
  | {
      type: "CHECKED";
      at: number;
      messageID: string;
      storedAt: number | undefined;
      standing: "answered" | "pending" | "unanswered";
    }
  | { type: "CHECK_FAILED"; at: number; messageID: string; message: string }
  | { type: "PARENT_STORED"; at: number; messageID: string; createdAt: number }
  /** An assistant message, begun at `createdAt`, answers `promptID`. */
  | { type: "PARENT_ANSWERED"; at: number; promptID: string; createdAt: number }
  | { type: "PARENT_PRESENT"; at: number }
  | { type: "PARENT_BUSY"; at: number }
  | { type: "PARENT_IDLE"; at: number }
  /** `message`: what the host said of it. */
  | { type: "PARENT_ERROR"; at: number; message?: string }
  | { type: "PARENT_NOT_FOUND"; at: number; message: string }
  | { type: "PARENT_FOUND"; at: number }
  | { type: "SEARCH_FAILED"; at: number; message: string }
  | { type: "PARENT_CLOSED"; at: number }
  | { type: "TICK"; at: number };

/** What each event of an outbox means, wherever it is taken. Stands in the chart, at every transition that it takes. */
export const outboxEventDescriptions: Record<OutboxEvent["type"], string> = {
  NOTICE_DUE: "A run has ended, and the parent is owed its notice.",
  ADOPTED: "The process that had prompts to this parent under way is gone: they go on from here.",
  WITHDRAW: "The parent learned of a run's end in another way.",
  PARENT_READ: "The parent's agent and model are known.",
  READ_FAILED: "The parent's agent and model could not be read.",
  COMPOSED: "The prompt has its words and ids.",
  COMPOSE_FAILED: "The prompt could not be formed.",
  SENT: "The host took the prompt.",
  SEND_REFUSED: "The host did not take the prompt.",
  CHECKED: "The host was asked whether the parent has taken the prompt up, and answered.",
  CHECK_FAILED: "The host was asked, and did not say.",
  PARENT_STORED: "The host has stored a user message in the parent.",
  PARENT_ANSWERED: "The parent's model answers a message.",
  PARENT_PRESENT: "The parent launches a task: whatever closed its outbox, it is there.",
  PARENT_BUSY: "The host says that the parent works.",
  PARENT_IDLE: "The host says that the parent is idle.",
  PARENT_ERROR: "The host says that a run of the parent failed or was aborted.",
  PARENT_NOT_FOUND: "The host did not find the parent session.",
  PARENT_FOUND: "The host was asked again: the parent session is there.",
  SEARCH_FAILED: "The host was asked again, and did not say.",
  PARENT_CLOSED: "The parent session was deleted, or stopped for good.",
  TICK: "Time has passed.",
};

/** What an outbox remembers: plain JSON. */
export interface OutboxContext {
  parentSessionID: string;
  /** Run ends that no prompt carries yet, in the order of their ends. */
  queue: RunResult[];
  /** The prompt under way. */
  prompt: NoticePrompt | undefined;
  /** Prompts of processes that are gone, to be seen to before anything else. */
  adoptedPrompts: NoticePrompt[];
  sender: Sender | undefined;
  /** When the host stored the prompt, as far as is known. Epoch milliseconds, by its clock. */
  storedAt: number | undefined;
  /** How often the prompt was sent, looked after, or could not be; pauses grow with it. */
  attempts: number;
  /** How often in a row the host did not find the parent; pauses grow with it. */
  notFoundCount: number;
  /** How often in a row the host refused the prompt for good, or met an error with it and did not answer it. */
  refusals: number;
  /** Why the host refused the prompt when it was sent last, or what went wrong with it, as far as was heard. */
  refusal: string | undefined;
  /** When the delivery has something to do, epoch milliseconds. */
  nextDeadline: number | undefined;
  /** When the parent can take a prompt again, epoch milliseconds. */
  parentReadyAt: number | undefined;
}
