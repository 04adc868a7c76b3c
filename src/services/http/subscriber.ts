import type { Clock } from "../clock.ts";

/** What is known of the connection that an answer goes out on. */
export interface Connection {
  /** Cuts it off, whatever was written and not taken yet. */
  drop(): void;
  /**
   * Bytes after which a stream must end, because nobody can tell how much of it was taken. Undefined: the runtime asks
   * for more only as the other side takes it.
   */
  mostBytes: number | undefined;
}

/** Somebody who reads the events. */
export interface Subscriber {
  stream: ReadableStream<Uint8Array>;
  send(chunk: Uint8Array): void;
  end(): void;
}

/**
 * Bytes that a reader may be behind, not counting its snapshot. That is about the length of a snapshot, with its 200
 * ended tasks of some kilobytes each: whoever is further behind gets there sooner by connecting again.
 */
export const MOST_UNREAD = 1_048_576;

/** Milliseconds of silence after which there is a heartbeat: the specification's number. */
const SILENCE = 30_000;

const encoder = new TextEncoder();

/** An event as it goes over the wire. `data` is JSON, which has no line breaks. */
export const frame = (event: string, data: string, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;

/** Text as it goes over the wire. */
export const bytes = (text: string): Uint8Array => encoder.encode(text);

/** Begins with the snapshot. `onGone` is called once, when nothing can be sent any more, whoever ended it. */
export const createSubscriber = (
  snapshot: Uint8Array,
  { clock, connection, onGone }: { clock: Clock; connection: Connection; onGone: (subscriber: Subscriber) => void },
): Subscriber => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let sentAt = clock.now();
  let sent = 0;
  let stopHeart: () => void = () => undefined;

  const leave = () => {
    if (!controller) return;
    controller = undefined;
    stopHeart();
    onGone(subscriber);
  };

  const end = () => {
    const open = controller;
    leave();
    open?.close();
  };

  const send = (chunk: Uint8Array) => {
    if (!controller) return;
    // Looked at before it is added to: one long event alone is no reason to drop those who keep up.
    if ((controller.desiredSize ?? 0) <= 0 || sent > (connection.mostBytes ?? Number.POSITIVE_INFINITY)) {
      end();
      connection.drop();
      return;
    }
    controller.enqueue(chunk);
    sent += chunk.length;
    sentAt = clock.now();
  };

  const beat = () => {
    if (clock.now() - sentAt >= SILENCE) {
      send(bytes(frame("heartbeat", JSON.stringify({ ts: new Date(clock.now()).toISOString() }))));
    }
    if (controller) stopHeart = clock.after(SILENCE - (clock.now() - sentAt), beat);
  };

  const stream = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
        given.enqueue(snapshot);
      },
      cancel: leave,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: snapshot.length + MOST_UNREAD }),
  );
  const subscriber: Subscriber = { stream, send, end };
  stopHeart = clock.after(SILENCE, beat);
  return subscriber;
};
