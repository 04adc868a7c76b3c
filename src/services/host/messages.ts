// ADR-116 in docs/decisions.md
import type { MessageInfo } from "../../machines/host-events.ts";

/** A message and its text. The text is what a person or a model wrote, without parts that a program added. */
export interface HostMessage extends MessageInfo {
  text: string;
  /**
   * Of a message of a model that called tools: whatever it stopped for, the host gives it the outcomes and asks it again, but
   * where all of them were `interrupted`.
   */
  tools?: "called" | "interrupted";
  /** True for a message of a model that reasoned. */
  reasons?: boolean;
}

/** A single message read by its id, perhaps while the host is still storing its parts, which it does one by one. */
export interface StoredMessage extends HostMessage {
  /** The ids of the parts stored so far. */
  partIDs: string[];
}

/** Joins the text parts of one message. */
export const joinTexts = (texts: string[]): string => texts.join("\n").trim();

/** A message of a forked conversation, with what is needed to plan which parts to cut and which messages to delete. */
export interface ForkedMessage {
  id: string;
  role: "user" | "assistant";
  /** True for both messages of a compaction: its request and its summary. The host sends no older message to a model. */
  isSummary: boolean;
  parts: ForkedPart[];
}

/** A part of a forked message. */
export interface ForkedPart {
  id: string;
  kind: "toolResult" | "text" | "other";
  /** The text that a model is sent and that may be cut. */
  text: string;
  /** Text that a model is sent as well and that must stay whole: a tool call's arguments, or reasoning. */
  uncuttableText: string;
  /** Number of attached files. */
  attachments: number;
  /** The host's own form of the part, which is handed back to the host when the part is rewritten. */
  raw: unknown;
}

/** A message of a transcript. */
export interface SpokenMessage {
  id: string;
  role: "user" | "assistant";
  parts: SpokenPart[];
}

/** A text or a tool call of a transcript. `result` is the tool's output or error; undefined while the tool runs. */
export type SpokenPart =
  | { kind: "text"; text: string }
  | { kind: "tool"; name: string; params: unknown; result?: string | undefined };

/** A message of a request that is about to be sent to a model, in the host's own form. */
export interface ModelMessage {
  /** `summary` is true for the summary that a compaction wrote; `time.created` is epoch milliseconds. */
  info: { id: string; sessionID: string; role: "user" | "assistant"; summary?: unknown; time: { created: number } };
  parts: { id: string; text?: string }[];
}
