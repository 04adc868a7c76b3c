import type { ModelRef } from "../../task.ts";
import type { SetAside } from "../host-events.ts";
import type { HostError, RunResult } from "../task/events.ts";

/** One message part of a prompt. The plugin chooses its id; the host stores parts in the order of their ids. */
interface NoticePart {
  id: string;
  text: string;
  /** Sent to the model, hidden from the person. */
  synthetic: boolean;
}

/** A prompt to the parent with the notices of one or more runs. Composed once: sent again, it is the same to the letter. */
export interface NoticePrompt {
  messageID: string;
  parts: NoticePart[];
  runs: { taskId: string; run: number }[];
  /** Shown to the person once, when the host has accepted the prompt. */
  toasts: { message: string; variant: "success" | "error" | "info" }[];
}

/** The agent and model that a prompt to the parent names: those that the parent works with now. */
export interface Sender {
  agent: string | undefined;
  model: ModelRef | undefined;
}

/** What an outbox wants done outside, as data. A service performs it and reports back with an event. */
export type OutboxEffect =
  /**
   * Read the parent's agent and model. Reported by `PARENT_READ`, `READ_FAILED` or `PARENT_NOT_FOUND`. `wasRefused`: the
   * host refused the prompt before, perhaps because its agent no longer exists; such a sender is to name none. Also shows
   * how busy the host is: while many runs end together, its answer comes only after most of them. `asksRoom`: so much is
   * owed that the answer is to say how much the parent's model has room for.
   */
  | { type: "readParent"; parentSessionID: string; wasRefused: boolean; asksRoom: boolean }
  /** The parent is set aside: notify the person which notices wait, and for what. */
  | { type: "reportSetAside"; parentSessionID: string; ends: RunResult[]; why: SetAside }
  /** Find out which of these batches have no running task any more. Reported, at once, by `BATCHES_CHECKED`. */
  | { type: "checkBatches"; parentSessionID: string; batchIds: string[] }
  /**
   * Write the prompt for the queued notices, or for the first of them, and choose its ids. `room`: the tokens that the
   * parent's model has room for; absent where what is queued is little. Reported, at once, by `COMPOSED` or `COMPOSE_FAILED`.
   */
  | { type: "composeNotice"; parentSessionID: string; queue: RunResult[]; room?: number }
  /** Send the prompt. Reported by `SENT`, `SEND_REFUSED` or `PARENT_NOT_FOUND`. */
  | { type: "sendNotice"; parentSessionID: string; prompt: NoticePrompt; sender: Sender }
  /** Ask the host whether the parent has begun to answer. Reported by `CHECKED`, `CHECK_FAILED` or `PARENT_NOT_FOUND`. */
  | { type: "checkNotice"; parentSessionID: string; messageID: string }
  /** Find out whether the parent was deleted. Reported by `PARENT_FOUND`, `PARENT_CLOSED` or `SEARCH_FAILED`. */
  | { type: "findParent"; parentSessionID: string }
  /** A prompt carries the notices of these runs. */
  | { type: "noticeComposed"; parentSessionID: string; runs: NoticePrompt["runs"] }
  /** The host has accepted the prompt: show the toasts. */
  | { type: "showToasts"; parentSessionID: string; toasts: NoticePrompt["toasts"] }
  /** The host refused the prompt for good: notify the person that these notices were not delivered, and why. */
  | { type: "noticeRejected"; parentSessionID: string; runs: NoticePrompt["runs"]; reason: string }
  /** The notices of these runs cannot be delivered: the parent is gone, or accepts no prompt. */
  | { type: "noticeDropped"; parentSessionID: string; runs: NoticePrompt["runs"] }
  /** The parent's model has read the notices of these runs. */
  | { type: "noticeAcknowledged"; parentSessionID: string; runs: NoticePrompt["runs"] };

/** What each effect asks for, in words that people read. Pictures and tables show it where the chart requests the effect. */
export const outboxEffectDescriptions: Record<OutboxEffect["type"], string> = {
  readParent: "OpenCode is asked for the parent's agent and model.",
  reportSetAside: "The person is notified which notices wait, and for what.",
  checkBatches: "It is looked which batches have no running task any more.",
  composeNotice: "The prompt with the notices is written.",
  sendNotice: "The prompt is sent to the parent.",
  checkNotice: "OpenCode is asked whether the parent has begun to answer.",
  findParent: "The parent is looked for among all sessions.",
  noticeComposed: "The tasks learn that a prompt carries their notices.",
  showToasts: "The person is shown what has ended.",
  noticeRejected: "The person is notified that the notices were not delivered, and why.",
  noticeDropped: "The tasks learn that their notices cannot be delivered.",
  noticeAcknowledged: "The tasks learn that their notices are delivered.",
};

/** Everything that can happen to an outbox. `at` is the time of the event in epoch milliseconds. */
export type OutboxEvent =
  | { type: "NOTICE_DUE"; at: number; end: RunResult }
  | { type: "ADOPTED"; at: number; prompts: NoticePrompt[] }
  | { type: "WITHDRAW"; at: number; taskId: string; run: number }
  /** `ended`: those of the batches that have no running task. */
  | { type: "BATCHES_CHECKED"; at: number; ended: string[] }
  /**
   * `othersRun`: the parent has tasks whose runs have not ended. `setAside`: why it is to be sent nothing; absent
   * where it may be. `room`: for how many tokens its model has room; there where that was asked. `gatherUntil`: until when
   * further ends are worth waiting for, epoch milliseconds; absent where none is, and where the parent is at work.
   */
  | {
      type: "PARENT_READ";
      at: number;
      sender: Sender;
      othersRun: boolean;
      setAside?: SetAside;
      room?: number;
      gatherUntil?: number;
    }
  | { type: "READ_FAILED"; at: number; message: string }
  | { type: "COMPOSED"; at: number; prompt: NoticePrompt }
  | { type: "COMPOSE_FAILED"; at: number; message: string }
  | { type: "SENT"; at: number; messageID: string }
  /** `retryable` is false when the host would refuse the same call again. */
  | { type: "SEND_REFUSED"; at: number; messageID: string; message: string; retryable: boolean }
  | {
      type: "CHECKED";
      at: number;
      messageID: string;
      storedAt: number | undefined;
      /** `stopped`: a person stopped the turn that was to answer it. */
      standing: "answered" | "pending" | "unanswered" | "stopped";
      /** When that was, epoch milliseconds; there where it was stopped. */
      stoppedAt?: number;
    }
  | { type: "CHECK_FAILED"; at: number; messageID: string; message: string }
  | { type: "PARENT_STORED"; at: number; messageID: string; createdAt: number }
  /** An assistant message, begun at `createdAt`, answers the message `promptID`. */
  | { type: "PARENT_ANSWERED"; at: number; promptID: string; createdAt: number }
  | { type: "PARENT_PRESENT"; at: number }
  | { type: "PARENT_CHANGED"; at: number }
  | { type: "PARENT_BUSY"; at: number }
  | { type: "PARENT_IDLE"; at: number }
  /** `message`: the host's own words. `fault`: there where the error may be none of the request. */
  | { type: "PARENT_ERROR"; at: number; message?: string; fault?: HostError["fault"] }
  | { type: "PARENT_NOT_FOUND"; at: number; message: string }
  | { type: "PARENT_FOUND"; at: number }
  | { type: "SEARCH_FAILED"; at: number; message: string }
  | { type: "PARENT_CLOSED"; at: number }
  | { type: "TICK"; at: number };

/** What each event of an outbox means, in every state. The chart shows it at each transition that the event takes. */
export const outboxEventDescriptions: Record<OutboxEvent["type"], string> = {
  NOTICE_DUE: "The parent is owed the notice of a run.",
  ADOPTED: "A process with prompts to this parent under way has ended: this outbox takes them over.",
  WITHDRAW: "The parent gets the result of a run in another way, or its task is gone.",
  BATCHES_CHECKED: "It is known which batches have no running task any more.",
  PARENT_READ: "The parent's agent and model are known.",
  READ_FAILED: "The parent's agent and model could not be read.",
  COMPOSED: "The prompt has its text and ids.",
  COMPOSE_FAILED: "The prompt could not be composed.",
  SENT: "OpenCode accepted the prompt.",
  SEND_REFUSED: "OpenCode refused the prompt.",
  CHECKED: "OpenCode says whether the parent has begun to answer the prompt.",
  CHECK_FAILED: "OpenCode was asked, and did not answer.",
  PARENT_STORED: "OpenCode has stored a user message in the parent.",
  PARENT_ANSWERED: "The parent's model begins to answer a message.",
  PARENT_PRESENT: "The parent has a task, new or ended, at work: it exists, whatever closed its outbox.",
  PARENT_CHANGED: "OpenCode reports that the parent has changed: it may be in use again.",
  PARENT_BUSY: "OpenCode reports that the parent is at work.",
  PARENT_IDLE: "OpenCode reports that the parent is idle.",
  PARENT_ERROR: "OpenCode reports that the parent's own work failed or was aborted.",
  PARENT_NOT_FOUND: "OpenCode did not find the parent session.",
  PARENT_FOUND: "The search found the parent session.",
  SEARCH_FAILED: "OpenCode did not answer the search.",
  PARENT_CLOSED: "The parent session was deleted, or stopped for good.",
  TICK: "Time has passed.",
};

/** Each event in a few words, as pictures label their arrows with it. */
export const outboxEventWords: Record<OutboxEvent["type"], string> = {
  NOTICE_DUE: "a notice is owed",
  ADOPTED: "taken over after a crash",
  WITHDRAW: "notice withdrawn",
  BATCHES_CHECKED: "batches looked at",
  PARENT_READ: "parent read",
  READ_FAILED: "reading failed",
  COMPOSED: "prompt written",
  COMPOSE_FAILED: "writing failed",
  SENT: "accepted",
  SEND_REFUSED: "refused",
  CHECKED: "OpenCode says how it stands",
  CHECK_FAILED: "OpenCode does not answer",
  PARENT_STORED: "a message is stored",
  PARENT_ANSWERED: "the model answers",
  PARENT_PRESENT: "the parent has a task at work",
  PARENT_CHANGED: "the parent has changed",
  PARENT_BUSY: "parent at work",
  PARENT_IDLE: "parent idle",
  PARENT_ERROR: "parent's work failed",
  PARENT_NOT_FOUND: "parent not found",
  PARENT_FOUND: "parent found",
  SEARCH_FAILED: "search failed",
  PARENT_CLOSED: "parent deleted",
  TICK: "time passes",
};

/** What an outbox remembers. It is not stored: after a crash it follows from the tasks and the prompts under way. */
export interface OutboxContext {
  parentSessionID: string;
  /** Results of runs that no prompt carries yet, oldest first. `wake` is `each` once their batch has no running task. */
  queue: RunResult[];
  /** The prompt under way. */
  prompt: NoticePrompt | undefined;
  /** Prompts taken over from processes that have ended. They come before anything else. */
  adoptedPrompts: NoticePrompt[];
  sender: Sender | undefined;
  /** For how many tokens the parent's model has room, where that was asked. */
  room: number | undefined;
  /** How many results were queued when the parent was last read. */
  queuedBefore: number;
  /** How often in a row the parent was read again because runs ended meanwhile. */
  readsAgain: number;
  /** When this process last sent the prompt and the host accepted it, epoch milliseconds. */
  sentAt: number | undefined;
  /** When the host stored the prompt, if it has said so. Epoch milliseconds, by the host's clock. */
  storedAt: number | undefined;
  /** When a person stopped the turn that was to answer the prompt, epoch milliseconds. */
  stoppedAt: number | undefined;
  /** How often sending or checking the prompt was tried; pauses grow with it. */
  attempts: number;
  /** How often in a row the parent was found set aside, or stopped; pauses grow with it. */
  looks: number;
  /** How often in a row the host did not find the parent; pauses grow with it. */
  notFoundCount: number;
  /** How often in a row the host refused the prompt for good, or reported an error and left it unanswered. */
  refusals: number;
  /** Why the host refused the prompt when it was last sent, or the error that it reported then. */
  refusal: Pick<HostError, "message" | "fault"> | undefined;
  /** When `TICK` is due in the region `delivery`, epoch milliseconds. */
  nextDeadline: number | undefined;
  /** When the parent can be sent a prompt again, epoch milliseconds. */
  parentReadyAt: number | undefined;
}
