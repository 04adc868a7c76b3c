/** What the scripted model answers to one request; plain data, made by the functions below. */
export type Reply = TextReply | CallsReply | FailureReply | HangReply;

/** Pace, price and end of an answer. */
export type AnswerOptions = {
  /** Milliseconds before the first byte. Default 0. */
  delayMs?: number;
  /**
   * The usage that is reported; `cached` are those of `input` that were in the provider's prompt cache. Default: a quarter of the
   * bytes, as a rough model would, and nothing cached. `none`: no usage is reported.
   */
  tokens?: { input?: number; output?: number; cached?: number } | "none";
  /** Why the model stopped. Default: `tool_calls` with tool calls, else `stop`. `null`: no reason is given, in any chunk. */
  finish?: string | null;
  /** What the model reasons before it says anything. Default: nothing. */
  reasoning?: string;
};

export type TextReply = AnswerOptions & {
  kind: "text";
  text: string;
  /** Milliseconds between two words. Default: the whole text in one chunk. */
  chunkDelayMs?: number;
};

export type ScriptedCall = {
  name: string;
  args?: Record<string, unknown>;
  /** Default: a unique one. */
  callID?: string;
};

export type CallsReply = AnswerOptions & { kind: "calls"; calls: ScriptedCall[]; text?: string };

export type FailureReply = { kind: "failure"; status: number; message: string; headers: Record<string, string> };

export type HangReply = {
  kind: "hang";
  /** Answers everybody who is kept waiting, and from then on everybody who comes. */
  release(reply: Reply): void;
  released: Promise<Reply>;
};

/** An assistant message that ends the turn. */
export function text(content: string, options: AnswerOptions & { chunkDelayMs?: number } = {}): TextReply {
  return { kind: "text", text: content, ...options };
}

/** An assistant message with tool calls, all in one turn, and some text before them when given. */
export function calls(toolCalls: ScriptedCall[], options: AnswerOptions & { text?: string } = {}): CallsReply {
  return { kind: "calls", calls: toolCalls, ...options };
}

/**
 * An HTTP error with OpenAI's error body. OpenCode retries 429 and 5xx up to five times, after 2 s, 4 s, … or after the
 * `retry-after` header; other codes end the turn.
 */
export function failure(
  status: number,
  message: string,
  options: { headers?: Record<string, string> } = {},
): FailureReply {
  return { kind: "failure", status, message, headers: options.headers ?? {} };
}

/** Silence, not even headers, until it is released or the client goes away. */
export function hang(): HangReply {
  let release: (reply: Reply) => void = () => undefined;
  const released = new Promise<Reply>((resolve) => {
    release = resolve;
  });
  return { kind: "hang", release, released };
}
