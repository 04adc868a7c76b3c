/** One message of a conversation in OpenAI's chat-completions format, as far as scenarios look into it. */
type ChatMessage = {
  role: "system" | "user" | "assistant" | "tool";
  content?: string | { type: string; text?: string }[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
};

/** A tool as it was offered to the model. */
type ToolDefinition = {
  type: "function";
  function: { name: string; description?: string; parameters: Record<string, unknown> };
};

/** The parsed body of a request. */
export type ChatBody = {
  model: string;
  messages: ChatMessage[];
  tools?: ToolDefinition[];
  stream?: boolean;
};

/** One request that OpenCode made to the scripted model. Times are epoch milliseconds with a fraction. */
export type ModelRequest = {
  sessionID: string;
  /** Set when the session that asks is a child. */
  parentSessionID?: string;
  messages: ChatMessage[];
  tools: ToolDefinition[];
  body: ChatBody;
  bodyBytes: number;
  /** When the whole request had arrived. */
  at: number;
  /** When the last byte of the answer had been written; absent while it is not. */
  answeredAt?: number;
};

/** What a tool call of the conversation gave back to the model. */
export type ToolResult = { callID: string; name: string; output: string };

/** The text of the newest user message; of all of them, one per line, when several stand in a row at that place. */
export function lastUserText(request: ModelRequest): string {
  const last = request.messages.findLastIndex(isUser);
  const before = request.messages.slice(0, last + 1).findLastIndex((message) => !isUser(message));
  return request.messages
    .slice(before + 1, last + 1)
    .map(textOf)
    .join("\n");
}

/** Every tool result of the conversation, oldest first. */
export function toolResults(request: ModelRequest): ToolResult[] {
  const names = new Map(
    request.messages.flatMap((message) => message.tool_calls ?? []).map((call) => [call.id, call.function.name]),
  );
  return request.messages
    .filter((message) => message.role === "tool")
    .map((message) => {
      const callID = message.tool_call_id ?? "";
      return { callID, name: names.get(callID) ?? "", output: textOf(message) };
    });
}

/** The names of the tools that were offered with the request. */
export function toolNames(request: ModelRequest): string[] {
  return request.tools.map((tool) => tool.function.name);
}

/** Whether OpenCode only wants a title for a session: its own housekeeping, not part of any scenario. */
export function isTitleRequest(body: ChatBody): boolean {
  return body.messages.some((message) => textOf(message).includes("Generate a title for this conversation"));
}

/** The text of a message, its parts one per line. */
export function textOf(message: ChatMessage): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("\n");
}

/** One line that tells requests apart in an error message. */
export function requestInShort(request: ModelRequest): string {
  const text = lastUserText(request).replaceAll(/\s+/g, " ");
  const results = toolResults(request).length;
  return `${request.sessionID}${request.parentSessionID ? " (child)" : ""}, ${results} tool results, user: ${text.slice(0, 100)}`;
}

function isUser(message: ChatMessage): boolean {
  return message.role === "user";
}
