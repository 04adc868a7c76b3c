import { estimateTokenCount } from "tokenx";
import type { SpokenMessage, SpokenPart } from "../host/messages.ts";
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

/** Which part of a conversation is wanted. */
export interface TranscriptOptions {
  /** Only what comes after this message. */
  sinceMessageId: string | undefined;
  /** At most so many messages. */
  messageLimit: number;
  includeToolResults: boolean;
}

/** Characters of a tool call's parameters that are shown. */
const PARAMS_CHARS = 200;

/**
 * Size of one excerpt, in bytes, a line counting as 25 at least. The host cuts a tool's answer at 50 KB or 2,000 lines
 * (measured), and would say nothing of how to go on.
 */
const EXCERPT_SIZE = 45_000;
const LEAST_LINE = 25;

const sizeOf = (text: string): number =>
  text.split("\n").reduce((sum, line) => sum + Math.max(LEAST_LINE, Buffer.byteLength(line) + 1), 0);

const LABELS = { user: "User:", assistant: "Agent:" } as const;

const callLine = ({ name, params }: Extract<SpokenPart, { kind: "tool" }>): OwnLine =>
  endWithJson(own`[Tool: ${nameOf(name)}]`, params, PARAMS_CHARS);

const partLines = (part: SpokenPart, includeToolResults: boolean): (OwnText | OwnLine)[] => {
  if (part.kind === "text") return [quoteBlock(part.text)];
  const call = callLine(part);
  return includeToolResults && part.result !== undefined ? [call, quoteBlock(part.result)] : [call];
};

/**
 * A message in the labelled form: `User:` or `Agent:`, tool calls as `[Tool: name] params`. What was said, and what tools
 * gave back, has `> ` before each line: nothing in it can pass for a label.
 */
export const formatMessage = ({ role, parts }: SpokenMessage, includeToolResults: boolean): OwnText =>
  lines(LABELS[role], ...parts.flatMap((part) => partLines(part, includeToolResults)));

const charactersOf = (part: SpokenPart): number =>
  part.kind === "text" ? part.text.length : callLine(part).length + (part.result?.length ?? 0);

/** The parts up to so many characters of what they hold; the last one is cut. */
const firstOf = (parts: SpokenPart[], characters: number): SpokenPart[] => {
  let left = characters;
  return parts.flatMap((part): SpokenPart[] => {
    const room = left;
    left -= charactersOf(part);
    if (room <= 0) return [];
    if (part.kind === "text") return [{ ...part, text: truncate(part.text, room) }];
    return [{ ...part, result: part.result && truncate(part.result, Math.max(0, room - callLine(part).length)) }];
  });
};

/** As much of the beginning of a message as fits. */
const truncateToBytes = (message: SpokenMessage, includeToolResults: boolean, room: number): OwnText => {
  const parts = message.parts.map((part) =>
    includeToolResults || part.kind === "text" ? part : { ...part, result: "" },
  );
  const total = parts.reduce((sum, part) => sum + charactersOf(part), 0);
  const beginning = (characters: number) =>
    lines(
      formatMessage({ ...message, parts: firstOf(parts, characters) }, includeToolResults),
      own`… (${total - characters} characters more)`,
    );
  let [low, high] = [0, total];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(beginning(middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return beginning(low);
};

/** An excerpt of a conversation, oldest first, and how to go on where there is more. */
export const excerpt = (
  messages: SpokenMessage[],
  { sinceMessageId, messageLimit, includeToolResults }: TranscriptOptions,
): Outcome<OwnText> => {
  const after = sinceMessageId === undefined ? -1 : messages.findIndex(({ id }) => id === sinceMessageId);
  if (sinceMessageId !== undefined && after < 0) {
    return fail(
      own`The conversation has no message ${quoteLine(sinceMessageId)}. Leave since_message_id out to begin at the start.`,
    );
  }
  const wanted = messages.slice(after + 1);
  const shown: OwnText[] = [];
  let room = EXCERPT_SIZE;
  for (const message of wanted.slice(0, messageLimit)) {
    const text = formatMessage(message, includeToolResults);
    const size = sizeOf(text);
    if (size > room && shown.length > 0) break;
    shown.push(size > room ? truncateToBytes(message, includeToolResults, room) : text);
    room -= size;
  }
  const last = wanted[shown.length - 1];
  const left = wanted.length - shown.length;
  const rest = left > 0 && last ? own`${left} messages more: since_message_id=${quoteLine(last.id)}.` : undefined;
  return { ok: true, value: join([...(shown.length > 0 ? shown : [own`No messages.`]), rest], "\n\n") };
};

/** A whole conversation in the labelled form, without tool results; over `maxTokens` the oldest messages are left out. */
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
