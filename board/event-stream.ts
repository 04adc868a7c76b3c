import { readServerSentEvents, type ServerSentEvent } from "../src/client/server-sent-events.ts";
import { ApiError, request } from "./api.ts";

/** How the connection stands: `locked` when reading needs a token that the page does not have. */
export type Connection = "connecting" | "live" | "lost" | "locked";

/** Milliseconds before the next attempt. */
const RETRY_MS = 2_000;

async function* textsOf(body: ReadableStream<BufferSource>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/**
 * Reads the events at `path`, and connects again whenever the connection is lost. `EventSource` cannot send the token.
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
    try {
      const { body } = await request(path, { signal: leaving.signal });
      onConnection("live");
      if (body) for await (const event of readServerSentEvents(textsOf(body))) onEvent(event);
      onConnection("lost");
    } catch (error) {
      if (leaving.signal.aborted) return;
      if (error instanceof ApiError && error.status === 401) return onConnection("locked");
      onConnection("lost");
    }
    retry = setTimeout(connect, RETRY_MS);
  };

  void connect();
  return () => {
    current.abort();
    void connect();
  };
};
