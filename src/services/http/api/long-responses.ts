import type { TypedResponse } from "hono";
import { HTTPException } from "hono/http-exception";
import type { JSONParsed } from "hono/utils/types";
import type { Clock } from "../../platform/clock.ts";
import type { ClientConnection } from "../access/request-handling.ts";

/** Bytes of a response that is sent at once. A longer one is sent in chunks, as the other side reads. */
const CHUNK_BYTES = 65_536;

/** Bytes of long responses that may be in flight at once. A response that exceeds it alone is sent when it is the only one. */
export const MAX_BYTES_IN_RESPONSES = 32 * 1_048_576;

/** Milliseconds for which a response counts where the runtime does not report whether it was read: then it is closed. */
const UNCONFIRMED_MS = 30_000;

/** Writes a value as a JSON response with status 200. Throws a 503 when too much is in flight already. */
export type WriteJson = <T>(connection: ClientConnection, value: T) => JsonResponse<T>;

/** The type that `c.json` returns, by which Hono checks that a route responds with what it promises. */
type JsonResponse<T> = Response & TypedResponse<JSONParsed<T>, 200, "json">;

const HEADERS = { "Content-Type": "application/json" };

const overloaded = () => new HTTPException(503, { message: "Too much data is on its way to readers. Try again." });

/** Creates the writer of responses, which bounds the memory that all of them use. */
export const createLongResponses = (clock: Clock): WriteJson => {
  let bytesInFlight = 0;

  /** Counts the bytes until the returned function is called, which may be called more than once. */
  const count = (size: number): (() => void) => {
    bytesInFlight += size;
    let counted = size;
    return () => {
      bytesInFlight -= counted;
      counted = 0;
    };
  };

  const inChunks = (body: Uint8Array, done: () => void): ReadableStream<Uint8Array> => {
    let at = 0;
    return new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          controller.enqueue(body.subarray(at, at + CHUNK_BYTES));
          at += CHUNK_BYTES;
          if (at < body.length) return;
          controller.close();
          done();
        },
        cancel: done,
      },
      { highWaterMark: 0 },
    );
  };

  const write = (connection: ClientConnection, value: unknown): Response => {
    const text = JSON.stringify(value);
    // A text has at least as many bytes in UTF-8 as it has characters.
    if (text.length <= CHUNK_BYTES) return new Response(text, { headers: HEADERS });
    if (bytesInFlight > 0 && bytesInFlight + text.length > MAX_BYTES_IN_RESPONSES) throw overloaded();
    const body = new TextEncoder().encode(text);
    const done = count(body.length);
    if (connection.maxStreamBytes === undefined) return new Response(inChunks(body, done), { headers: HEADERS });
    clock.after(UNCONFIRMED_MS, done);
    return new Response(body, { headers: HEADERS });
  };

  return <T>(connection: ClientConnection, value: T) => write(connection, value) as JsonResponse<T>;
};
