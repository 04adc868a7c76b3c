import { toSingleLine } from "../services/platform/plain-text.ts";

/** A part of a message that is shown. */
export interface ShownPart {
  id: string;
  kind: "text" | "reasoning" | "tool";
  /** The text; of a tool call its name and what it is about. */
  text: string;
  /** How a tool call stands, such as `completed`; what went wrong, if anything did. */
  state?: string;
  /** False while it is being written or run. */
  isDone: boolean;
}

/** A message of a task's conversation. */
export interface ShownMessage {
  id: string;
  /** Who wrote it: `user`, or the agent and its model. */
  author: string;
  /** Epoch milliseconds. */
  at: number;
  parts: ShownPart[];
  error?: string;
}

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** What a tool call is about: the title that the tool gave it, or its arguments. */
const aboutOf = (state: Fields): string => {
  const title = textOf(state.title);
  return title !== "" ? title : JSON.stringify(state.input ?? {});
};

const toolPart = (part: Fields): ShownPart => {
  const state = fieldsOf(part.state);
  const status = textOf(state.status);
  const error = textOf(state.error);
  return {
    id: textOf(part.id),
    kind: "tool",
    text: toSingleLine(`${textOf(part.tool)} ${aboutOf(state)}`),
    state: error === "" ? status : toSingleLine(`${status}: ${error}`),
    isDone: status === "completed" || status === "error",
  };
};

const toPart = (value: unknown, isMessageDone: boolean): ShownPart[] => {
  const part = fieldsOf(value);
  if (part.type === "tool") return [toolPart(part)];
  if (part.type !== "text" && part.type !== "reasoning") return [];
  const text = textOf(part.text).trim();
  const hasEnd = typeof fieldsOf(part.time).end === "number";
  return text === "" ? [] : [{ id: textOf(part.id), kind: part.type, text, isDone: isMessageDone || hasEnd }];
};

/** Reads a message as OpenCode returns it. What a later version of OpenCode has in addition is left out. */
const toMessage = (value: unknown): ShownMessage => {
  const { info: given, parts } = fieldsOf(value);
  const info = fieldsOf(given);
  const time = fieldsOf(info.time);
  const isUser = info.role === "user";
  const isDone = isUser || typeof time.completed === "number" || info.error !== undefined;
  const error = fieldsOf(info.error);
  const reason = textOf(fieldsOf(error.data).message) || textOf(error.name);
  const author = [textOf(info.agent) || textOf(info.mode) || "agent", textOf(info.modelID)].filter(Boolean).join(", ");
  return {
    id: textOf(info.id),
    author: toSingleLine(isUser ? "user" : author),
    at: typeof time.created === "number" ? time.created : 0,
    parts: (Array.isArray(parts) ? parts : []).flatMap((part) => toPart(part, isDone)),
    ...(reason === "" ? {} : { error: toSingleLine(reason) }),
  };
};

/** Reads the messages of a conversation, oldest first, as the status API returns them. */
export const readConversation = (messages: readonly unknown[]): ShownMessage[] => messages.map(toMessage);
