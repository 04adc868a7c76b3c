import { readServerSentEvents, type ServerSentEvent } from "../src/client/server-sent-events.ts";
import { ApiError, request, setServerKnown } from "./api.ts";
import { findServerAgain, learnServers } from "./servers.ts";

/** How the connection stands: `locked` when reading needs a token that the page does not have. */
export type Connection = "connecting" | "live" | "lost" | "locked";

/** Milliseconds before the next attempt. */
const RETRY_MS = 2_000;

/** Milliseconds between two readings of which servers there are, while the page is connected to one. */
const LEARN_EVERY_MS = 5_000;

/** Keeps reading which servers there are. */
const keepLearning = async (signal: AbortSignal): Promise<void> => {
  // What is known stays where it cannot be read: that the connection is lost is noticed by itself.
  await learnServers(signal).catch(() => undefined);
  if (!signal.aborted) setTimeout(() => void keepLearning(signal), LEARN_EVERY_MS);
};

async function* textsOf(body: ReadableStream<BufferSource>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/**
 * Reads the events at `path`, and connects again whenever the connection is lost, once the server has proven that it is one.
 * `EventSource` cannot send the token.
 * @returns a function that connects again at once, with the token that the page has by then
 */
export const followEvents = (
  path: string,
  onEvent: (event: ServerSentEvent) => void,
  onConnection: (connection: Connection) => void,
): (() => void) => {
  let retry: ReturnType<typeof setTimeout> | undefined;
  let current = new AbortController();

  const connect = async () => {
    clearTimeout(retry);
    const leaving = new AbortController();
    current = leaving;
    const learning = new AbortController();
    try {
      const { body } = await request(path, { signal: leaving.signal });
      onConnection("live");
      void keepLearning(learning.signal);
      if (body) for await (const event of readServerSentEvents(textsOf(body))) onEvent(event);
    } catch (error) {
      if (!leaving.signal.aborted && error instanceof ApiError && error.status === 401) return onConnection("locked");
    } finally {
      learning.abort();
    }
    if (leaving.signal.aborted) return;
    setServerKnown(false);
    onConnection("lost");
    await connectAgain(leaving.signal);
  };

  /** Connects as soon as who listens at the page's address is its server. */
  const connectAgain = async (signal: AbortSignal): Promise<void> => {
    const isThere = await findServerAgain();
    if (signal.aborted) return;
    if (!isThere) {
      retry = setTimeout(() => void connectAgain(signal), RETRY_MS);
      return;
    }
    setServerKnown(true);
    await connect();
  };

  void connect();
  return () => {
    current.abort();
    clearTimeout(retry);
    void connect();
  };
};
