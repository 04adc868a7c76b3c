import { truncate } from "../platform/plain-text.ts";
import { ANSWER_BYTES, CUT } from "./messages.ts";

/** Characters of a text that are sent, to begin with: OpenCode keeps no more of what a tool says. */
const MOST_CHARS = 50_000;

const cutTexts = (message: unknown, most: number): string =>
  JSON.stringify(message, (_, value) =>
    typeof value === "string" && value.length > most ? `${truncate(value, most)}${CUT}` : value,
  ) ?? "null";

/** A message as JSON that fits; undefined for one that has very many parts. */
const textThatFits = (message: unknown, room: number): string | undefined => {
  for (let most = MOST_CHARS; most > 0; most = Math.floor(most / 4)) {
    const text = cutTexts(message, most);
    if (Buffer.byteLength(text) <= room) return text;
  }
  return undefined;
};

/** Says in the host's own form, beside its messages, how many are not there. */
const leftOut = (count: number): unknown => ({
  info: { id: "left-out", role: "assistant" },
  parts: [
    {
      id: "left-out-text",
      type: "text",
      text: `[${count} earlier messages are left out: the fleet carries messages of 1 MB.]`,
    },
  ],
});

/**
 * Returns the newest messages of a session that fit into an answer, in the host's own form and oldest first. Texts are cut
 * where a message does not fit without that; where messages are left out, the first one says so.
 */
export const messagesToSend = (messages: readonly unknown[]): unknown[] => {
  const sent: unknown[] = [];
  let room = ANSWER_BYTES;
  for (const message of messages.toReversed()) {
    const whole = cutTexts(message, MOST_CHARS);
    const isWhole = Buffer.byteLength(whole) <= room;
    // The newest one is what is waited for.
    const text = isWhole ? whole : sent.length === 0 ? textThatFits(message, room) : undefined;
    if (text === undefined) break;
    sent.unshift(JSON.parse(text));
    room -= Buffer.byteLength(text);
  }
  const left = messages.length - sent.length;
  return left === 0 ? sent : [leftOut(left), ...sent];
};
