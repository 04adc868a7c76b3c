import type { TypedResponse } from "hono";
import { HTTPException } from "hono/http-exception";
import type { JSONParsed } from "hono/utils/types";
import type { Clock } from "../../platform/clock.ts";
import type { ClientConnection } from "../events/sse-stream.ts";

/** Bytes of an answer that is sent as it is. Longer ones go out piece by piece, as the other side takes them. */
const PIECE = 65_536;

/** Bytes of long answers that may be on their way at once. A longer one is sent when it is the only one. */
export const MAX_BYTES_IN_RESPONSES = 32 * 1_048_576;

/** Milliseconds for which an answer counts where nobody can tell whether it was taken: its connection is closed by then. */
const COUNTED = 30_000;

/** Writes a value as the JSON of an answer with status 200. Throws a 503 when too much is on its way already. */
export type WriteJson = <T>(connection: ClientConnection, value: T) => JsonAnswer<T>;

/** As `c.json` has it: what checks that a route gives what it promises. */
type JsonAnswer<T> = Response & TypedResponse<JSONParsed<T>, 200, "json">;

const HEADERS = { "Content-Type": "application/json" };

const tooMuch = () => new HTTPException(503, { message: "Too much is on its way to those who read. Try again." });

/** Nothing is on its way yet. */
export const createLongResponses = (clock: Clock): WriteJson => {
  let underWay = 0;

  /** Counts bytes until the returned function is called, as often as it may be. */
  const count = (size: number): (() => void) => {
    underWay += size;
    let left = size;
    return () => {
      underWay -= left;
      left = 0;
    };
  };

  const inPieces = (body: Uint8Array, done: () => void): ReadableStream<Uint8Array> => {
    let at = 0;
    return new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          controller.enqueue(body.subarray(at, at + PIECE));
          at += PIECE;
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
    // No text is longer in UTF-16 than in UTF-8.
    if (text.length <= PIECE) return new Response(text, { headers: HEADERS });
    if (underWay > 0 && underWay + text.length > MAX_BYTES_IN_RESPONSES) throw tooMuch();
    const body = new TextEncoder().encode(text);
    const done = count(body.length);
    if (connection.mostBytes === undefined) return new Response(inPieces(body, done), { headers: HEADERS });
    clock.after(COUNTED, done);
    return new Response(body, { headers: HEADERS });
  };

  return <T>(connection: ClientConnection, value: T) => write(connection, value) as JsonAnswer<T>;
};
