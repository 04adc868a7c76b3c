import { estimateTokenCount } from "tokenx";

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

/** Which part of a conversation is wanted. */
export interface Excerpt {
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

/** As much of the beginning as fits. */
const fitted = (text: string, room: number): string => {
  let fit = text.slice(0, room);
  while (sizeOf(fit) > room) fit = fit.slice(0, Math.floor(fit.length * 0.8));
  return `${fit}\n… (${text.length - fit.length} characters more)`;
};

const LABELS = { user: "User:", assistant: "Agent:" } as const;

const preview = (params: unknown): string => {
  const text = JSON.stringify(params) ?? "";
  return text.length > PARAMS_CHARS ? `${text.slice(0, PARAMS_CHARS)}…` : text;
};

const partLines = (part: SpokenPart, includeToolResults: boolean): string[] => {
  if (part.kind === "text") return [part.text];
  const call = `[Tool: ${part.name}] ${preview(part.params)}`;
  return includeToolResults && part.result !== undefined ? [call, part.result] : [call];
};

/** A message in the labelled form: `User:` or `Agent:`, tool calls as `[Tool: name] params`. */
export const labelled = ({ role, parts }: SpokenMessage, includeToolResults: boolean): string =>
  [LABELS[role], ...parts.flatMap((part) => partLines(part, includeToolResults))].join("\n");

/**
 * An excerpt of a conversation, oldest first, and how to go on where there is more.
 * @throws Error when the conversation has no message `sinceMessageId`.
 */
export const excerpt = (messages: SpokenMessage[], { sinceMessageId, messageLimit, includeToolResults }: Excerpt) => {
  const after = sinceMessageId === undefined ? -1 : messages.findIndex(({ id }) => id === sinceMessageId);
  if (sinceMessageId !== undefined && after < 0) {
    throw new Error(
      `The conversation has no message "${sinceMessageId}". Leave since_message_id out to begin at the start.`,
    );
  }
  const wanted = messages.slice(after + 1);
  const shown: string[] = [];
  let room = EXCERPT_SIZE;
  for (const message of wanted.slice(0, messageLimit)) {
    const text = labelled(message, includeToolResults);
    const size = sizeOf(text);
    if (size > room && shown.length > 0) break;
    shown.push(size > room ? fitted(text, room) : text);
    room -= size;
  }
  const last = wanted[shown.length - 1];
  const left = wanted.length - shown.length;
  const rest = left > 0 && last ? [`${left} messages more: since_message_id="${last.id}".`] : [];
  return [...(shown.length > 0 ? shown : ["No messages."]), ...rest].join("\n\n");
};

/** A whole conversation in the labelled form, without tool results; over `maxTokens` the oldest messages are left out. */
export const conversationText = (messages: SpokenMessage[], maxTokens: number): { text: string; isWhole: boolean } => {
  const kept: string[] = [];
  let room = maxTokens;
  for (const message of messages.toReversed()) {
    const text = labelled(message, false);
    room -= estimateTokenCount(text);
    if (room < 0) break;
    kept.unshift(text);
  }
  return { text: kept.join("\n\n"), isWhole: kept.length === messages.length };
};
