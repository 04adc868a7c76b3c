/** The fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** A part of a message. `isDone` is false while it is being written or run. */
export type Part = { id: string; isDone: boolean } & (
  | { kind: "text"; text: string; isForModel: boolean }
  | { kind: "reasoning"; text: string }
  | { kind: "tool"; tool: string; title: string; status: string; input: Fields; output: string; error: string }
);

/** A message of a task's conversation. Texts are empty where OpenCode gives none. */
export interface Message {
  id: string;
  role: "user" | "assistant";
  agent: string;
  model: string;
  /** When it began, epoch milliseconds. */
  at: number | undefined;
  parts: Part[];
  /** Why it failed. */
  error: string;
}

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const readTool = (part: Fields, id: string): Part => {
  const state = fieldsOf(part.state);
  const status = textOf(state.status);
  return {
    kind: "tool",
    id,
    tool: textOf(part.tool),
    title: textOf(state.title),
    status,
    input: fieldsOf(state.input),
    output: textOf(state.output),
    error: textOf(state.error),
    isDone: status === "completed" || status === "error",
  };
};

const readPart = (value: unknown, ownId: string, isMessageDone: boolean): Part[] => {
  const part = fieldsOf(value);
  const id = textOf(part.id) || ownId;
  if (part.type === "tool") return [readTool(part, id)];
  const text = textOf(part.text);
  if (text.trim() === "") return [];
  const isDone = isMessageDone || typeof fieldsOf(part.time).end === "number";
  if (part.type === "text") return [{ kind: "text", id, text, isForModel: part.synthetic === true, isDone }];
  return part.type === "reasoning" ? [{ kind: "reasoning", id, text, isDone }] : [];
};

const readMessage = (value: unknown, index: number): Message => {
  const { info: given, parts } = fieldsOf(value);
  const info = fieldsOf(given);
  const { created, completed } = fieldsOf(info.time);
  const error = fieldsOf(info.error);
  const role = info.role === "user" ? "user" : "assistant";
  const id = textOf(info.id) || String(index);
  const isDone = role === "user" || typeof completed === "number" || info.error !== undefined;
  return {
    id,
    role,
    agent: textOf(info.agent) || textOf(info.mode),
    model: textOf(info.modelID),
    at: typeof created === "number" ? created : undefined,
    parts: (Array.isArray(parts) ? parts : []).flatMap((part, place) => readPart(part, `${id} ${place}`, isDone)),
    error: textOf(fieldsOf(error.data).message) || textOf(error.name),
  };
};

/**
 * Reads the messages of a conversation, oldest first, in the form that OpenCode gives them. What a later version of OpenCode
 * has in addition is left out.
 */
export const messagesOf = (logs: readonly unknown[]): Message[] =>
  logs.map(readMessage).filter(({ parts, error }) => parts.length > 0 || error !== "");
