import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ModelRequest } from "./model-request.ts";
import type { CallsReply, FailureReply, Reply, TextReply } from "./reply.ts";

/** Writes a reply to the client in OpenAI's chat-completions format, streamed when the request asks for it. */
export async function writeReply(reply: Reply, request: ModelRequest, response: ServerResponse): Promise<void> {
  switch (reply.kind) {
    case "text":
    case "calls":
      return writeAnswer(reply, request, response);
    case "failure":
      return writeFailure(reply, response);
    case "hang":
      return writeReply(await reply.released, request, response);
  }
}

async function writeAnswer(
  reply: TextReply | CallsReply,
  request: ModelRequest,
  response: ServerResponse,
): Promise<void> {
  if (reply.delayMs) await sleep(reply.delayMs);
  const answer = toAnswer(reply, request);
  if (!request.body.stream) {
    const message = { role: "assistant", content: answer.words.join(""), ...toolCallsOf(answer) };
    const choices = [{ index: 0, message, finish_reason: answer.finish }];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...envelope(request, "chat.completion"), choices, ...answer.usage }));
    return;
  }
  const chunk = openStream(request, response);
  chunk({ delta: { role: "assistant" } });
  if (reply.reasoning !== undefined) chunk({ delta: { reasoning_content: reply.reasoning } });
  for (const [index, word] of answer.words.entries()) {
    if (index > 0 && reply.kind === "text" && reply.chunkDelayMs) await sleep(reply.chunkDelayMs);
    chunk({ delta: { content: word } });
  }
  for (const call of answer.toolCalls) chunk({ delta: { tool_calls: [call] } });
  chunk({ delta: {}, finish_reason: answer.finish }, answer.usage);
  response.end("data: [DONE]\n\n");
}

type Answer = ReturnType<typeof toAnswer>;

function toAnswer(reply: TextReply | CallsReply, request: ModelRequest) {
  const spoken = reply.text ?? "";
  const toolCalls = (reply.kind === "calls" ? reply.calls : []).map(({ name, args = {}, callID }, index) => ({
    index,
    id: callID ?? `call_${randomUUID().replaceAll("-", "")}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const tokens = reply.tokens === "none" ? undefined : (reply.tokens ?? {});
  const input = tokens?.input ?? Math.ceil(request.bodyBytes / 4);
  const output = tokens?.output ?? Math.ceil((spoken.length + JSON.stringify(toolCalls).length) / 4);
  return {
    // A word keeps the space before it, so the chunks put together are the text again.
    words: reply.kind === "text" && reply.chunkDelayMs ? (spoken.match(/\s*\S+\s*$|\s*\S+/g) ?? []) : [spoken],
    toolCalls,
    finish: reply.finish === undefined ? (toolCalls.length > 0 ? "tool_calls" : "stop") : reply.finish,
    usage: tokens && {
      usage: {
        ...{ prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
        ...(tokens.cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: tokens.cached } }),
      },
    },
  };
}

function toolCallsOf(answer: Answer) {
  return answer.toolCalls.length > 0 ? { tool_calls: answer.toolCalls } : {};
}

function writeFailure(reply: FailureReply, response: ServerResponse): void {
  response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
  response.end(
    JSON.stringify({ error: { message: reply.message, type: "scripted_failure", code: null, param: null } }),
  );
}

/** Sends the headers of a stream; the function it gives back writes one chunk. */
function openStream(request: ModelRequest, response: ServerResponse) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const base = envelope(request, "chat.completion.chunk");
  return (choice: { delta: object; finish_reason?: string | null }, usage?: object): void => {
    const choices = [{ index: 0, finish_reason: null, ...choice }];
    response.write(`data: ${JSON.stringify({ ...base, choices, ...usage })}\n\n`);
  };
}

function envelope(request: ModelRequest, object: string) {
  return { id: `chatcmpl-${randomUUID()}`, object, created: Math.floor(Date.now() / 1000), model: request.body.model };
}
