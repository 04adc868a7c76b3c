/** A part of a message, as it is shown. */
export type Part =
  | { kind: "text"; id: string; text: string; isForModel: boolean }
  | { kind: "reasoning"; id: string; text: string }
  | { kind: "tool"; id: string; tool: string; title: string; status: string; input: string; output: string };

/** A message of a conversation, as it is shown. */
export interface Message {
  id: string;
  role: "user" | "assistant";
  agent: string;
  model: string;
  /** Epoch milliseconds. */
  at: number | undefined;
  parts: Part[];
  error: string;
}

/** Characters of a text that are shown: a tool may return megabytes. */
const MAX_CHARS = 20_000;

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const cut = (text: string): string =>
  text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n… ${text.length - MAX_CHARS} characters more` : text;

const readPart = (value: unknown, index: number): Part[] => {
  const part = fieldsOf(value);
  const id = textOf(part.id) || String(index);
  const text = cut(textOf(part.text));
  switch (part.type) {
    case "text":
      return text === "" ? [] : [{ kind: "text", id, text, isForModel: part.synthetic === true }];
    case "reasoning":
      return text === "" ? [] : [{ kind: "reasoning", id, text }];
    case "tool": {
      const state = fieldsOf(part.state);
      const input = fieldsOf(state.input);
      return [
        {
          kind: "tool",
          id,
          tool: textOf(part.tool),
          title: textOf(state.title) || textOf(input.description) || textOf(input.filePath) || textOf(input.command),
          status: textOf(state.status),
          input: Object.keys(input).length === 0 ? "" : cut(JSON.stringify(input, undefined, 2)),
          output: cut(textOf(state.output) || textOf(state.error)),
        },
      ];
    }
    default:
      return [];
  }
};

const readMessage = (value: unknown, index: number): Message => {
  const { info: given, parts } = fieldsOf(value);
  const info = fieldsOf(given);
  const error = fieldsOf(info.error);
  const { created } = fieldsOf(info.time);
  return {
    id: textOf(info.id) || String(index),
    role: info.role === "user" ? "user" : "assistant",
    agent: textOf(info.agent) || textOf(info.mode),
    model: textOf(info.modelID),
    at: typeof created === "number" ? created : undefined,
    parts: Array.isArray(parts) ? parts.flatMap(readPart) : [],
    error: textOf(fieldsOf(error.data).message) || textOf(error.name),
  };
};

/** Reads the messages of a session in the form that OpenCode gives them. What is not known is left out. */
export const readMessages = (logs: readonly unknown[]): Message[] =>
  logs.map(readMessage).filter(({ parts, error }) => parts.length > 0 || error !== "");
