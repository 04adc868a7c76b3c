import { estimateTokenCount } from "tokenx";
import type { SpokenMessage, SpokenPart } from "../host/host.ts";
import { truncate } from "../platform/plain-text.ts";
import { fail, type Outcome } from "../platform/result.ts";
import {
  endWithJson,
  join,
  lines,
  nameOf,
  type OwnLine,
  type OwnText,
  own,
  quoteBlock,
  quoteLine,
} from "./own-text.ts";

export interface TranscriptOptions {
  sinceMessageId: string | undefined;
  messageLimit: number;
  includeToolResults: boolean;
}

/** Characters of a tool call's parameters that are shown. */
const PARAMS_CHARS = 200;

/**
 * Maximum size of an excerpt in bytes, where each line counts as at least `MIN_LINE_SIZE`. The host cuts a tool's output at
 * 50 KB or 2,000 lines (measured), without saying how to read the rest.
 */
const EXCERPT_SIZE = 45_000;
const MIN_LINE_SIZE = 25;

const sizeOf = (text: string): number =>
  text.split("\n").reduce((sum, line) => sum + Math.max(MIN_LINE_SIZE, Buffer.byteLength(line) + 1), 0);

const LABELS = { user: "User:", assistant: "Agent:" } as const;

const callLine = ({ name, params }: Extract<SpokenPart, { kind: "tool" }>): OwnLine =>
  endWithJson(own`[Tool: ${nameOf(name)}]`, params, PARAMS_CHARS);

const partLines = (part: SpokenPart, includeToolResults: boolean): (OwnText | OwnLine)[] => {
  if (part.kind === "text") return [quoteBlock(part.text)];
  const call = callLine(part);
  return includeToolResults && part.result !== undefined ? [call, quoteBlock(part.result)] : [call];
};

/**
 * Writes out a message: the label `User:` or `Agent:`, then text and tool calls, these as `[Tool: name] params`. Text and
 * tool results have `> ` before each line, so that nothing in them can pass for a label.
 */
export const formatMessage = ({ role, parts }: SpokenMessage, includeToolResults: boolean): OwnText =>
  lines(LABELS[role], ...parts.flatMap((part) => partLines(part, includeToolResults)));

const charCount = (part: SpokenPart): number =>
  part.kind === "text" ? part.text.length : callLine(part).length + (part.result?.length ?? 0);

/** Returns the first `characters` characters of some parts; the last part is cut. */
const truncateParts = (parts: SpokenPart[], characters: number): SpokenPart[] => {
  let left = characters;
  return parts.flatMap((part): SpokenPart[] => {
    const room = left;
    left -= charCount(part);
    if (room <= 0) return [];
    if (part.kind === "text") return [{ ...part, text: truncate(part.text, room) }];
    return [{ ...part, result: part.result && truncate(part.result, Math.max(0, room - callLine(part).length)) }];
  });
};

/** Writes out as much of the beginning of a message as fits into `room` (see `EXCERPT_SIZE`). */
const truncateToBytes = (message: SpokenMessage, includeToolResults: boolean, room: number): OwnText => {
  const parts = message.parts.map((part) =>
    includeToolResults || part.kind === "text" ? part : { ...part, result: "" },
  );
  const total = parts.reduce((sum, part) => sum + charCount(part), 0);
  const beginning = (characters: number) =>
    lines(
      formatMessage({ ...message, parts: truncateParts(parts, characters) }, includeToolResults),
      own`… (${total - characters} more characters)`,
    );
  let [low, high] = [0, total];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(beginning(middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return beginning(low);
};

/** Messages of a conversation that follow each other, and how many come after them. */
export interface Passage {
  messages: SpokenMessage[];
  left: number;
}

/** Selects the messages that are wanted, oldest first; undefined if the conversation does not contain `sinceMessageId`. */
export const passageOf = (
  messages: SpokenMessage[],
  { sinceMessageId, messageLimit }: Pick<TranscriptOptions, "sinceMessageId" | "messageLimit">,
): Passage | undefined => {
  const after = sinceMessageId === undefined ? -1 : messages.findIndex(({ id }) => id === sinceMessageId);
  if (sinceMessageId !== undefined && after < 0) return undefined;
  const wanted = messages.slice(after + 1);
  const passage = wanted.slice(0, messageLimit);
  return { messages: passage, left: wanted.length - passage.length };
};

/** Reports that a conversation does not contain a message. */
export const noSuchMessage = (sinceMessageId: string) =>
  fail(
    own`The conversation has no message ${quoteLine(sinceMessageId)}. Leave since_message_id out to read from the start.`,
  );

/** Writes out as much of a passage as an excerpt may have, and how to read on if there is more. */
export const writePassage = (passage: Passage, includeToolResults: boolean): OwnText => {
  const shown: OwnText[] = [];
  let room = EXCERPT_SIZE;
  for (const message of passage.messages) {
    const text = formatMessage(message, includeToolResults);
    const size = sizeOf(text);
    if (size > room && shown.length > 0) break;
    shown.push(size > room ? truncateToBytes(message, includeToolResults, room) : text);
    room -= size;
  }
  const last = passage.messages[shown.length - 1];
  const left = passage.left + passage.messages.length - shown.length;
  const rest = left > 0 && last ? own`${left} more messages: since_message_id=${quoteLine(last.id)}.` : undefined;
  return join([...(shown.length > 0 ? shown : [own`No messages.`]), rest], "\n\n");
};

/**
 * Writes out an excerpt of a conversation, oldest message first, and how to read on if there is more. Fails if the
 * conversation does not contain `sinceMessageId`.
 */
export const excerpt = (messages: SpokenMessage[], options: TranscriptOptions): Outcome<OwnText> => {
  const passage = passageOf(messages, options);
  if (!passage) return noSuchMessage(options.sinceMessageId ?? "");
  return { ok: true, value: writePassage(passage, options.includeToolResults) };
};

/**
 * Writes out a whole conversation without tool results. The oldest messages are left out if it exceeds `maxTokens`
 * (estimated); `isWhole` is false then.
 */
export const conversationText = (messages: SpokenMessage[], maxTokens: number): { text: OwnText; isWhole: boolean } => {
  const kept: OwnText[] = [];
  let room = maxTokens;
  for (const message of messages.toReversed()) {
    const text = formatMessage(message, false);
    room -= estimateTokenCount(text);
    if (room < 0) break;
    kept.unshift(text);
  }
  return { text: join(kept, "\n\n"), isWhole: kept.length === messages.length };
};
