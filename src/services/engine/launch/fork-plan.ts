// OpenCode copies a whole conversation, and the copy is cut afterwards: docs/decisions/038-a-fork-is-cut-in-place.md.
import { estimateTokenCount } from "tokenx";
import type { ForkedMessage, ForkedPart } from "../../host/host.ts";
import { truncate } from "../../platform/plain-text.ts";
import { lines, type OwnText, own } from "../../text/own-text.ts";

/** Limits on the conversation that a fork inherits. */
export interface ForkLimits {
  /** Characters of a tool result; longer results are cut to this length. */
  maxToolResultChars: number;
  /** Estimated tokens of the whole conversation; the oldest messages are deleted until it fits. */
  maxTokens: number;
}

/** The changes to make to a forked session before its first prompt. */
interface ForkPlan {
  /** Parts with their shortened text, and the messages they belong to. */
  cuts: { messageID: string; part: ForkedPart }[];
  /** Ids of the messages to delete, oldest first. */
  drops: string[];
}

/** Estimated tokens of an attachment: about what providers charge for an image. */
const ATTACHMENT_TOKENS = 1_500;

const shorten = (text: string, chars: number): string =>
  text.length <= chars ? text : `${truncate(text, chars)}\n[Truncated: ${text.length} characters originally]`;

const tokensOf = ({ parts }: ForkedMessage): number =>
  parts.reduce(
    (sum, { text, uncuttableText, attachments }) =>
      sum + estimateTokenCount(text) + estimateTokenCount(uncuttableText) + attachments * ATTACHMENT_TOKENS,
    0,
  );

const withParts = (message: ForkedMessage, change: (part: ForkedPart) => string): ForkedMessage => ({
  ...message,
  parts: message.parts.map((part) => ({ ...part, text: change(part) })),
});

/** Returns what the host would send to a model: all messages, or those from the newest compaction on. */
const visibleToModel = (messages: ForkedMessage[]): ForkedMessage[] => {
  const last = messages.findLastIndex(({ isSummary }) => isSummary);
  const first = last > 0 && messages[last - 1]?.isSummary ? last - 1 : last;
  return first < 0 ? messages : messages.slice(first);
};

/**
 * Returns the index of the first message to keep: the oldest user message such that it and all later messages fit into
 * `maxTokens`, or the newest user message if none does.
 */
const firstKept = (messages: ForkedMessage[], maxTokens: number): number => {
  let remaining = messages.reduce((sum, message) => sum + tokensOf(message), 0);
  const newestUser = messages.findLastIndex(({ role }) => role === "user");
  for (const [index, message] of messages.entries()) {
    const canComeFirst = message.role === "user" || index === 0;
    if (index >= newestUser || (remaining <= maxTokens && canComeFirst)) return index;
    remaining -= tokensOf(message);
  }
  return Math.max(0, newestUser);
};

/** Shortens all texts to the same length until the messages fit: for messages that are too large even on their own. */
const shortenAll = (messages: ForkedMessage[], maxTokens: number): ForkedMessage[] => {
  const total = (list: ForkedMessage[]) => list.reduce((sum, message) => sum + tokensOf(message), 0);
  let chars = Math.max(...messages.flatMap(({ parts }) => parts.map(({ text }) => text.length)), 0);
  let shortened = messages;
  while (total(shortened) > maxTokens && chars > 200) {
    chars = Math.floor(chars * 0.7);
    shortened = messages.map((message) => withParts(message, ({ text }) => shorten(text, chars)));
  }
  return shortened;
};

/**
 * Plans how to make a forked conversation fit: cut long tool results first, then delete the oldest messages, and at last
 * shorten every text that remains. A compaction's summary is kept, and the conversation still begins with a user message.
 */
export const planFork = (messages: ForkedMessage[], limits: ForkLimits): ForkPlan => {
  const visible = visibleToModel(messages);
  const trimmed = visible.map((message) =>
    withParts(message, ({ kind, text }) => (kind === "toolResult" ? shorten(text, limits.maxToolResultChars) : text)),
  );
  const summary = trimmed.filter(({ isSummary }) => isSummary);
  const spoken = trimmed.filter(({ isSummary }) => !isSummary);
  const room = limits.maxTokens - summary.reduce((sum, message) => sum + tokensOf(message), 0);
  const first = firstKept(spoken, room);
  const kept = shortenAll(spoken.slice(first), Math.max(room, 0));
  const originals = new Map(visible.flatMap(({ parts }) => parts.map((part) => [part.id, part.text])));
  return {
    cuts: [...summary, ...kept].flatMap(({ id, parts }) =>
      parts.flatMap((part) => (part.text === originals.get(part.id) ? [] : { messageID: id, part })),
    ),
    drops: spoken.slice(0, first).map(({ id }) => id),
  };
};

/** Writes the message that a forked child reads before its first prompt. It says how the conversation was shortened. */
export const forkPreamble = ({ cuts, drops }: ForkPlan): OwnText =>
  lines(
    "You are a subagent in a fork of the conversation above. Its context may be truncated.",
    cuts.length > 0 ? own`Long texts that were shortened in it: ${cuts.length}. Each notes its original length.` : "",
    drops.length > 0 ? own`The oldest ${drops.length} messages are left out.` : "",
    "Read files again if you need their complete content. Your task follows.",
  );

/** Writes the same message for a child that gets the conversation as text because the host could not fork it. */
export const textPreamble = (conversation: OwnText, isWhole: boolean): OwnText =>
  lines(
    'You are a subagent. The conversation that you were launched from follows as text. Each line of what was said starts with "> ". Its context may be truncated.',
    isWhole ? "" : "Its oldest messages are left out.",
    "Read files again if you need their complete content.",
    "<conversation>",
    conversation,
    "</conversation>",
  );
