import type { MessageInfo } from "../../machines/supervisor/events.ts";

/** A message with its text: its text parts, without those that a machine added. */
export interface HostMessage extends MessageInfo {
  text: string;
}

/** A message that was asked for by its id. A host stores its parts one after the other. */
export interface StoredMessage extends HostMessage {
  /** The ids of the parts that are stored. */
  partIDs: string[];
}

/** The text of a message that was written in these parts. */
export const joinTexts = (texts: string[]): string => texts.join("\n").trim();

/** A message of an inherited conversation, as far as it is weighed and cut. */
export interface ForkedMessage {
  id: string;
  role: "user" | "assistant";
  /** Part of a compaction's summary. The host sends a model nothing of what stands before it. */
  isSummary: boolean;
  parts: ForkedPart[];
}

/** A part of it. */
export interface ForkedPart {
  id: string;
  kind: "toolResult" | "text" | "other";
  /** What a model is sent of it, and what of it can be cut. */
  text: string;
  /** What a model is sent beside that, and must stay: a call's arguments, a reasoning. */
  beside: string;
  attachments: number;
  /** The host's own form of the part, to be handed back to it when the part is rewritten. */
  raw: unknown;
}

/** A conversation for reading: what was said, and which tools were called with what. */
export interface SpokenMessage {
  id: string;
  role: "user" | "assistant";
  parts: SpokenPart[];
}

/** What a reader wants to see of a message part. `result` is the tool's output or error, once there is one. */
export type SpokenPart =
  | { kind: "text"; text: string }
  | { kind: "tool"; name: string; params: unknown; result: string | undefined };

/** A message on its way to a model, as far as it matters here. */
export interface ModelMessage {
  /** `summary` is true for what a compaction left of a conversation; the creation's time is epoch milliseconds. */
  info: { id: string; sessionID: string; role: "user" | "assistant"; summary?: unknown; time: { created: number } };
  parts: { id: string; text?: string }[];
}
