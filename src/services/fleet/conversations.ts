import type { Elsewhere } from "../engine/requests.ts";
import type { HostResult, SpokenMessage, SpokenPart } from "../host/host.ts";
import { truncate } from "../platform/plain-text.ts";
import { fail } from "../platform/result.ts";
import { nameOf, type OwnText, own, quoteLine } from "../text/own-text.ts";
import { noSuchMessage, type Passage, passageOf, writePassage } from "../text/transcript.ts";
import type { Broker, BrokerFailure } from "./broker.ts";
import { findTaskFor } from "./local-engine.ts";
import type { Membership, WorkerEngine } from "./member.ts";
import type { AnswerOf, QuestionOf } from "./questions.ts";
import { ANSWER_BYTES, CUT, type RunName, WIRE_VERSION } from "./wire-messages.ts";

/*
 * Conversations of tasks on other servers: the origin server asks for one, the worker cuts it until it fits into a message of
 * NATS, which has 1 MB unless it is configured otherwise.
 */

/** Returns why a conversation could not be read, and what to do. `label` is the name of its server. */
const notRead = (label: string, taskId: string, asked: BrokerFailure | { is: "silent" }): OwnText =>
  asked.is === "silent"
    ? own`Server ${nameOf(label)}, which has the conversation of task ${nameOf(taskId)}, does not answer: it is off, cut off or busy, or has removed it. Try again later.`
    : own`The fleet could not be asked for the conversation of task ${nameOf(taskId)}, which is on server ${nameOf(label)}: ${quoteLine(asked.message)}. Try again later.`;

/** Creates the reader of conversations on other servers. `origin` is the id of this one. */
export const createRemoteConversations = (broker: Pick<Broker, "ask">, origin: string): Elsewhere => ({
  transcript: async ({ id, label }, taskId, options) => {
    const { sinceMessageId, messageLimit, includeToolResults } = options;
    const asked = await broker.ask(id, {
      ...{ v: WIRE_VERSION, type: "conversation", origin, task: taskId },
      options: { messageLimit, includeToolResults, ...(sinceMessageId === undefined ? {} : { sinceMessageId }) },
    });
    if (asked.is !== "answered") {
      return fail(
        own`${notRead(label, taskId, asked)} Without full_session, the task's result is read, which is here once it has ended.`,
      );
    }
    const { passage } = asked.answer;
    if (!passage) return noSuchMessage(sinceMessageId ?? "");
    // No more is shown than was asked for, whatever is sent.
    const messages = passage.messages.slice(0, messageLimit);
    return { ok: true, value: writePassage({ ...passage, messages }, includeToolResults) };
  },
  messages: async ({ id, label }, taskId) => {
    const asked = await broker.ask(id, { v: WIRE_VERSION, type: "messages", origin, task: taskId });
    return asked.is === "answered"
      ? { ok: true, value: asked.answer.messages }
      : fail(notRead(label, taskId, asked), "host");
  },
});

/** What the conversations of this server's tasks are read with. */
type ConversationSource = Pick<WorkerEngine, "host" | "store"> & Pick<Membership, "log">;

/** Reads the session of the task that works for another one; undefined where that is not here. */
const readFor = async <T>(
  { store, log }: ConversationSource,
  whose: Pick<RunName, "origin" | "task">,
  read: (sessionID: string) => Promise<HostResult<T>>,
): Promise<T | undefined> => {
  const taskId = findTaskFor(store, whose);
  if (taskId === undefined) return undefined;
  const result = await read(taskId);
  if (result.ok) return result.value;
  log.info("a conversation could not be given to another server", { taskId, reason: result.failure.message });
  return undefined;
};

/** Answers the question for a passage of a conversation; undefined where this process does not have that. */
export const answerConversation = async (
  source: ConversationSource,
  { options, ...whose }: QuestionOf<"conversation">,
): Promise<AnswerOf<"conversation"> | undefined> => {
  const messages = await readFor(source, whose, source.host.conversation);
  if (!messages) return undefined;
  const { sinceMessageId, messageLimit, includeToolResults } = options;
  const passage = passageOf(messages, { sinceMessageId, messageLimit });
  const answer = { v: WIRE_VERSION, type: "conversation" } as const;
  return passage ? { ...answer, passage: passageToSend(passage, includeToolResults) } : answer;
};

/** Answers the question for all messages of a conversation; undefined where this process does not have that. */
export const answerMessages = async (
  source: ConversationSource,
  whose: QuestionOf<"messages">,
): Promise<AnswerOf<"messages"> | undefined> => {
  const messages = await readFor(source, whose, source.host.rawMessages);
  return messages && { v: WIRE_VERSION, type: "messages", messages: messagesToSend(messages) };
};

/** The most characters of each text in a tool call's parameters; no transcript shows more of all of them together. */
const PARAMS_TEXT = 200;

/** The most characters of parameters whose texts are cut. What is longer has very many of them. */
const PARAMS_CHARS = 10_000;

/** The most characters of a text, at first, in a message that is too large. */
const MOST_CHARS = 200_000;

/** Returns a value as JSON, with its texts cut after so many characters. */
const cutTexts = (value: unknown, most: number): string =>
  JSON.stringify(value, (_, text) =>
    typeof text === "string" && text.length > most ? `${truncate(text, most)}${CUT}` : text,
  ) ?? "null";

/** Returns a message as JSON that fits, its texts cut after at most `most` characters; undefined for one that has very many parts. */
const textThatFits = (message: unknown, room: number, most: number): string | undefined => {
  for (let length = most; length > 0; length = Math.floor(length / 2)) {
    const text = cutTexts(message, length);
    if (Buffer.byteLength(text) <= room) return text;
  }
  return undefined;
};

const cutParams = (params: unknown): unknown => {
  const short = JSON.stringify(params, (_, value) =>
    typeof value === "string" ? truncate(value, PARAMS_TEXT) : value,
  );
  if (short === undefined) return undefined;
  return short.length > PARAMS_CHARS ? truncate(short, PARAMS_TEXT) : JSON.parse(short);
};

/** Returns a part as transcripts show it: the beginning of a call's parameters, and its result where that is wanted. */
const shownPart = (part: SpokenPart, includeToolResults: boolean): SpokenPart =>
  part.kind === "text"
    ? part
    : { ...part, params: cutParams(part.params), result: includeToolResults ? part.result : undefined };

/**
 * Returns a passage with as many messages as fit into an answer, and at least the first one, whose texts are cut where it does not.
 * The others count among those that are left.
 */
export const passageToSend = ({ messages, left }: Passage, includeToolResults: boolean): Passage => {
  const sent: SpokenMessage[] = [];
  let room = ANSWER_BYTES;
  for (const { id, role, parts } of messages) {
    const message: SpokenMessage = { id, role, parts: parts.map((part) => shownPart(part, includeToolResults)) };
    const bytes = Buffer.byteLength(JSON.stringify(message));
    if (bytes > room && sent.length > 0) break;
    const cut = bytes > room ? textThatFits(message, room, MOST_CHARS) : undefined;
    if (cut !== undefined) sent.push(JSON.parse(cut));
    else sent.push(bytes > room ? { ...message, parts: [{ kind: "text", text: CUT.trim() }] } : message);
    room -= bytes;
  }
  return { messages: sent, left: left + messages.length - sent.length };
};

/** The most characters of a text in the host's own form: OpenCode keeps no more of what a tool says. */
const MOST_RAW_CHARS = 50_000;

/** Returns a message in the host's own form that says how many are missing. */
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
    const whole = cutTexts(message, MOST_RAW_CHARS);
    const isWhole = Buffer.byteLength(whole) <= room;
    // The newest one is what the person waits for.
    const text = isWhole ? whole : sent.length === 0 ? textThatFits(message, room, MOST_RAW_CHARS) : undefined;
    if (text === undefined) break;
    sent.unshift(JSON.parse(text));
    room -= Buffer.byteLength(text);
  }
  const left = messages.length - sent.length;
  return left === 0 ? sent : [leftOut(left), ...sent];
};
