import { estimateTokenCount } from "tokenx";
import type { ForkedMessage, ForkedPart } from "../host/messages.ts";
import { lines, type OwnText, own } from "../text/own-text.ts";
import { truncate } from "../text/truncate.ts";

/** How much of a conversation a fork inherits. */
export interface ForkLimits {
  /** Characters of a tool result; a longer one is cut. */
  maxToolResultChars: number;
  /** Estimated tokens of the whole; while there are more, the oldest messages go. */
  maxTokens: number;
}

/** What is to be done to a forked session before its first prompt. */
export interface ForkPlan {
  /** Parts that get a shorter text. */
  cuts: { messageID: string; part: ForkedPart }[];
  /** Messages that go, oldest first. */
  drops: string[];
}

/** Tokens that an attachment counts for: about what providers charge for an image. */
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

/** What a model would be sent: all from the newest summary on, if there is one. */
const visibleToModel = (messages: ForkedMessage[]): ForkedMessage[] => {
  const last = messages.findLastIndex(({ isSummary }) => isSummary);
  const first = last > 0 && messages[last - 1]?.isSummary ? last - 1 : last;
  return first < 0 ? messages : messages.slice(first);
};

/** Where the kept messages begin: at the oldest user message from which on all fit, or else at the newest one. */
const firstKept = (messages: ForkedMessage[], room: number): number => {
  let left = messages.reduce((sum, message) => sum + tokensOf(message), 0);
  const newest = messages.findLastIndex(({ role }) => role === "user");
  for (const [index, message] of messages.entries()) {
    if (index >= newest || (left <= room && message.role === "user") || (left <= room && index === 0)) return index;
    left -= tokensOf(message);
  }
  return Math.max(0, newest);
};

/** Cuts the texts of messages that are too large even by themselves, all to the same length, until they fit. */
const shortenAll = (messages: ForkedMessage[], room: number): ForkedMessage[] => {
  const total = (list: ForkedMessage[]) => list.reduce((sum, message) => sum + tokensOf(message), 0);
  let chars = Math.max(...messages.flatMap(({ parts }) => parts.map(({ text }) => text.length)), 0);
  let fitted = messages;
  while (total(fitted) > room && chars > 200) {
    chars = Math.floor(chars * 0.7);
    fitted = messages.map((message) => withParts(message, ({ text }) => shorten(text, chars)));
  }
  return fitted;
};

/**
 * What has to go so that a forked conversation fits: long tool results are cut, then the oldest messages go, and at last
 * what is left is cut. A compaction's summary stays, and a conversation still begins with a user's message.
 */
export const planFork = (messages: ForkedMessage[], limits: ForkLimits): ForkPlan => {
  const before = visibleToModel(messages);
  const trimmed = before.map((message) =>
    withParts(message, ({ kind, text }) => (kind === "toolResult" ? shorten(text, limits.maxToolResultChars) : text)),
  );
  const summary = trimmed.filter(({ isSummary }) => isSummary);
  const spoken = trimmed.filter(({ isSummary }) => !isSummary);
  const room = limits.maxTokens - summary.reduce((sum, message) => sum + tokensOf(message), 0);
  const first = firstKept(spoken, room);
  const kept = shortenAll(spoken.slice(first), Math.max(room, 0));
  const originals = new Map(before.flatMap(({ parts }) => parts.map((part) => [part.id, part.text])));
  return {
    cuts: [...summary, ...kept].flatMap(({ id, parts }) =>
      parts.flatMap((part) => (part.text === originals.get(part.id) ? [] : { messageID: id, part })),
    ),
    drops: spoken.slice(0, first).map(({ id }) => id),
  };
};

/** What a forked child is told before its first prompt: what of the conversation it sees is not whole. */
export const preambleOf = ({ cuts, drops }: ForkPlan): OwnText =>
  lines(
    "You are a subagent in a fork of the conversation above. Its context may be truncated.",
    cuts.length > 0 ? own`${cuts.length} long texts in it are cut; each says how long it was.` : "",
    drops.length > 0 ? own`The oldest ${drops.length} messages are left out.` : "",
    "Read files again if you need their complete content. Your task follows.",
  );

/** The preamble of a child that gets the conversation as text, because the host would not fork it. */
export const textPreamble = (conversation: OwnText, isWhole: boolean): OwnText =>
  lines(
    'You are a subagent. The conversation that you were launched from follows as text, what was said after "> ". Its context may be truncated.',
    isWhole ? "" : "Its oldest messages are left out.",
    "Read files again if you need their complete content.",
    "<conversation>",
    conversation,
    "</conversation>",
  );
