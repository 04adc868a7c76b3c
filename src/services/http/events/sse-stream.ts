import type { Clock } from "../../platform/clock.ts";
import type { Ends } from "../access/socket-owner.ts";
import type { BytesInFlight } from "./bytes-in-flight.ts";

/** What is known of the connection that an answer goes out on. */
export interface ClientConnection {
  /** Cuts it off, whatever was written and not taken yet. */
  drop(): void;
  /**
   * Bytes after which a stream must end, because nobody can tell how much of it was taken. Undefined: the runtime asks
   * for more only as the other side takes it.
   */
  mostBytes: number | undefined;
  /** Lifts the time limit of the connection: its answer is a stream, that ends when somebody ends it. */
  keepOpen(): void;
  /** Bytes that the runtime has taken and not sent yet, as far as it says. */
  unsent(): number;
  /** Where it leads from and to; undefined where the runtime does not say. */
  ends: Ends | undefined;
}

/** Somebody who reads the events. */
export interface SseStream {
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

/** Bytes of a snapshot that go out at once: a runtime holds what it has taken, and asks for more when that is out. */
const PIECE = 65_536;

const encoder = new TextEncoder();

/** An event as it goes over the wire. `data` is JSON, which has no line breaks. */
export const frame = (event: string, data: string, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;

/** Text as it goes over the wire. */
export const bytes = (text: string): Uint8Array => encoder.encode(text);

/** Bytes that may be on their way to all readers of all streams. A new reader beyond that is told to come again. */
export const MOST_UNDER_WAY = 32 * 1_048_576;

/** What a subscriber needs. */
export interface SseStreamDeps {
  clock: Clock;
  connection: ClientConnection;
  underWay: BytesInFlight;
  /** Called once, when nothing can be sent any more, whoever ended it. */
  onGone: (subscriber: SseStream) => void;
}

/** Begins with the snapshot. Undefined when there is no room for that. */
export const createSseStream = (
  snapshot: Uint8Array,
  { clock, connection, underWay, onGone }: SseStreamDeps,
): SseStream | undefined => {
  if (!underWay.hasRoom(snapshot.length)) return undefined;
  const { mostBytes } = connection;
  const highWaterMark = snapshot.length + MOST_UNREAD;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let sentAt = clock.now();
  let sent = 0;
  /** Bytes that were taken when the heart beat last; undefined when nothing waited to be taken. */
  let takenBefore: number | undefined;
  let stopHeart: () => void = () => undefined;

  const all = () => snapshot.length + sent;
  /** Where nobody can tell what was taken, all that was sent may be on its way. */
  const behind = (): number => {
    if (!controller) return 0;
    if (mostBytes !== undefined) return all();
    return highWaterMark - (controller.desiredSize ?? highWaterMark) + connection.unsent();
  };

  const leave = () => {
    if (!controller) return;
    controller = undefined;
    stopHeart();
    stopCounting();
    onGone(subscriber);
  };

  const end = () => {
    const open = controller;
    leave();
    open?.close();
  };

  const drop = () => {
    end();
    connection.drop();
  };

  const send = (chunk: Uint8Array) => {
    if (!controller) return;
    // Looked at before it is added to: one long event alone is no reason to drop those who keep up.
    if ((controller.desiredSize ?? 0) <= 0 || sent > (mostBytes ?? Number.POSITIVE_INFINITY)) return drop();
    controller.enqueue(chunk);
    sent += chunk.length;
    sentAt = clock.now();
  };

  const beat = () => {
    // Else one who never reads would keep what is on its way to it for as long as nothing happens.
    const waiting = mostBytes === undefined ? behind() : 0;
    const taken = all() - waiting;
    if (waiting > 0 && taken === takenBefore) return drop();
    takenBefore = waiting > 0 ? taken : undefined;
    if (clock.now() - sentAt >= SILENCE) {
      send(bytes(frame("heartbeat", JSON.stringify({ ts: new Date(clock.now()).toISOString() }))));
    }
    if (controller) stopHeart = clock.after(SILENCE - (clock.now() - sentAt), beat);
  };

  const stream = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
        for (let at = 0; at < snapshot.length; at += PIECE) given.enqueue(snapshot.subarray(at, at + PIECE));
      },
      cancel: leave,
    },
    new ByteLengthQueuingStrategy({ highWaterMark }),
  );
  const stopCounting = underWay.count({ behind, drop });
  connection.keepOpen();
  const subscriber: SseStream = { stream, send, end };
  stopHeart = clock.after(SILENCE, beat);
  return subscriber;
};
