import type { SpokenMessage, SpokenPart } from "../host/host.ts";
import { truncate } from "../platform/plain-text.ts";
import type { Passage } from "../text/transcript.ts";
import { ANSWER_BYTES, CUT } from "./messages.ts";

/*
 * Conversations as they travel: NATS takes messages of 1 MB, unless it is told otherwise.
 */

/** Characters of each text in a tool call's parameters; no transcript shows more of all of them together. */
const PARAMS_TEXT = 200;

/** Characters that parameters have at most where their texts are cut. What is longer has very many of them. */
const PARAMS_CHARS = 10_000;

/** Characters of a text in a message that is too large, to begin with. */
const MOST_CHARS = 200_000;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const cutText = (text: string, most: number): string => (text.length > most ? `${truncate(text, most)}${CUT}` : text);

const cutParams = (params: unknown): unknown => {
  const short = JSON.stringify(params, (_, value) =>
    typeof value === "string" ? truncate(value, PARAMS_TEXT) : value,
  );
  if (short === undefined) return undefined;
  return short.length > PARAMS_CHARS ? truncate(short, PARAMS_TEXT) : JSON.parse(short);
};

/** A part as it is shown: with the beginning of a call's parameters, and with its result where that is wanted. */
const shownPart = (part: SpokenPart, includeToolResults: boolean): SpokenPart =>
  part.kind === "text"
    ? part
    : { ...part, params: cutParams(part.params), result: includeToolResults ? part.result : undefined };

const cutPart = (part: SpokenPart, most: number): SpokenPart =>
  part.kind === "text"
    ? { ...part, text: cutText(part.text, most) }
    : { ...part, result: part.result && cutText(part.result, most) };

/** Cuts the texts of a message until it fits. */
const cutMessage = (message: SpokenMessage): SpokenMessage => {
  for (let most = MOST_CHARS; most > 0; most = Math.floor(most / 2)) {
    const cut = { ...message, parts: message.parts.map((part) => cutPart(part, most)) };
    if (bytesOf(cut) <= ANSWER_BYTES) return cut;
  }
  return { ...message, parts: [{ kind: "text", text: CUT.trim() }] };
};

/**
 * Returns a passage of a conversation as it travels: as many messages as fit, and at least the first one, whose texts are cut
 * where it does not. The others count among those that are left.
 */
export const passageToSend = ({ messages, left }: Passage, includeToolResults: boolean): Passage => {
  const sent: SpokenMessage[] = [];
  let room = ANSWER_BYTES;
  for (const { id, role, parts } of messages) {
    const message = { id, role, parts: parts.map((part) => shownPart(part, includeToolResults)) };
    const bytes = bytesOf(message);
    if (bytes > room && sent.length > 0) break;
    sent.push(bytes > room ? cutMessage(message) : message);
    room -= bytes;
  }
  return { messages: sent, left: left + messages.length - sent.length };
};
