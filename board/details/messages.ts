import {
  type Fields,
  messagesOf,
  type Message as ReadMessage,
  type Part as ReadPart,
} from "../../src/client/conversation.ts";

/** A part of a message, as it is shown. */
export type Part =
  | { kind: "text"; id: string; text: string; isForModel: boolean }
  | { kind: "reasoning"; id: string; text: string }
  | { kind: "tool"; id: string; tool: string; title: string; status: string; input: string; output: string };

/** A message of a conversation, as it is shown. */
export interface Message extends Omit<ReadMessage, "parts"> {
  parts: Part[];
}

/** Characters of a text that are shown: a tool may return megabytes. */
const MAX_CHARS = 20_000;

const cut = (text: string): string =>
  text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n… ${text.length - MAX_CHARS} characters more` : text;

/** What a tool call is about, where the tool gave it no title. */
const aboutOf = ({ description, filePath, command }: Fields): string =>
  [description, filePath, command].find((value): value is string => typeof value === "string" && value !== "") ?? "";

const toShown = (part: ReadPart): Part => {
  switch (part.kind) {
    case "text":
      return { kind: "text", id: part.id, text: cut(part.text), isForModel: part.isForModel };
    case "reasoning":
      return { kind: "reasoning", id: part.id, text: cut(part.text) };
    case "tool": {
      const { kind, id, tool, title, status, input, output, error } = part;
      return {
        kind,
        id,
        tool,
        title: title || aboutOf(input),
        status,
        input: Object.keys(input).length === 0 ? "" : cut(JSON.stringify(input, undefined, 2)),
        output: cut(output || error),
      };
    }
  }
};

/** Reads the messages of a session in the form that OpenCode gives them, and cuts what is too long to be shown. */
export const readMessages = (logs: readonly unknown[]): Message[] =>
  messagesOf(logs).map((message) => ({ ...message, parts: message.parts.map(toShown) }));
