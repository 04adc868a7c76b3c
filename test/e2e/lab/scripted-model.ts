import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type ChatBody, isTitleRequest, lastUserText, type ModelRequest, requestInShort } from "./model-request.ts";
import { writeReply } from "./model-wire.ts";
import { now, record } from "./recording.ts";
import { type Reply, text } from "./reply.ts";

/** Which requests are meant: those whose newest user text contains the string, or those the function picks. */
type Matcher = string | ((request: ModelRequest) => boolean);

/** A reply, a function that makes one from the request, or a list with one for each hit, whose last one repeats. */
export type Script = Reply | ((request: ModelRequest) => Reply) | Reply[];

/** A model server on loopback that answers what the scenario says. */
export type ScriptedModel = {
  /** The base URL for an OpenAI-compatible provider, ends with `/v1`. */
  url: string;
  /** Every request so far except those for titles, in order of arrival. */
  requests: readonly ModelRequest[];
  /**
   * From now on answers matching requests with this script. The newest matching rule wins, so that a test can overrule
   * what a shared set-up said. A request that no rule matches is answered with the text "ok"; a title request is
   * answered with a title and never reaches a rule.
   */
  when(matcher: Matcher, script: Script): void;
  /**
   * The first matching request, already received or still to come. Rejects after `timeoutMs` (default: `PATIENCE_MS`) with a
   * list of what was received. `after` leaves out everything up to and including that request.
   */
  waitFor(matcher: Matcher, options?: { timeoutMs?: number; after?: ModelRequest }): Promise<ModelRequest>;
  /** Breaks what is still being answered and closes the server. */
  stop(): Promise<void>;
};

/** Starts a scripted model on a free port of 127.0.0.1. `title` is what it calls a session. */
export async function startModel({ title = "A scripted title" } = {}): Promise<ScriptedModel> {
  const requests = record<ModelRequest>("model request", requestInShort);
  const rules: { matches: (request: ModelRequest) => boolean; reply: (request: ModelRequest) => Reply }[] = [];

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method !== "POST" || incoming.url !== "/v1/chat/completions") {
      response.writeHead(404).end();
      return;
    }
    const request = await readRequest(incoming);
    if (isTitleRequest(request.body)) return writeReply(text(title), request, response);
    response.on("finish", () => {
      request.answeredAt = now();
    });
    requests.add(request);
    // A script that throws is a mistake in the scenario: the message travels through OpenCode into the test's error.
    const rule = rules.find((candidate) => candidate.matches(request));
    await writeReply(rule ? rule.reply(request) : text("ok"), request, response);
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(400).end(JSON.stringify({ error: { message: `the script failed: ${String(error)}` } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the scripted model has no port");

  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    requests: requests.all,
    when(matcher, script) {
      rules.unshift({ matches: toPredicate(matcher), reply: toFunction(script) });
    },
    waitFor: (matcher, options) => requests.waitFor(toPredicate(matcher), options),
    stop() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ModelRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  // Before it is parsed: a benchmark's time is not to contain that.
  const at = now();
  const bytes = Buffer.concat(chunks);
  const body: ChatBody = JSON.parse(bytes.toString("utf8"));
  const parentSessionID = incoming.headers["x-parent-session-id"];
  return {
    sessionID: String(incoming.headers["x-session-id"] ?? ""),
    ...(parentSessionID !== undefined && { parentSessionID: String(parentSessionID) }),
    messages: body.messages,
    tools: body.tools ?? [],
    body,
    bodyBytes: bytes.byteLength,
    at,
  };
}

function toPredicate(matcher: Matcher): (request: ModelRequest) => boolean {
  return typeof matcher === "function" ? matcher : (request) => lastUserText(request).includes(matcher);
}

function toFunction(script: Script): (request: ModelRequest) => Reply {
  if (typeof script === "function") return script;
  const replies = Array.isArray(script) ? script : [script];
  let hits = 0;
  return () => replies[Math.min(hits++, replies.length - 1)] ?? text("ok");
}
