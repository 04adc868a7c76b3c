import { type Clock, repeat } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { type ClientConnection, errorResponse } from "../access/request-handling.ts";

/** Somebody who reads a stream. */
interface Reader {
  /** Bytes that were handed out to it and are not known to have been read. */
  unread(): number;
  /** Closes its connection and frees what it has not read. */
  drop(): void;
}

/**
 * Bounds the bytes that streams have handed out and that are not known to have been read by `max`, whether they belong to many
 * readers that are a little behind or to few far behind.
 */
export const createBytesInFlight = (max: number) => {
  const readers = new Set<Reader>();
  const total = () => [...readers].reduce((sum, reader) => sum + reader.unread(), 0);
  return {
    /** The bytes of all readers. */
    total,
    /** Adds a reader; returns a function that removes it. */
    add: (reader: Reader) => {
      readers.add(reader);
      return () => void readers.delete(reader);
    },
    /** True when so many more bytes can be handed out. A reader that is the only one is always served. */
    hasRoom: (more: number) => {
      const bytes = total();
      return bytes === 0 || bytes + more <= max;
    },
    /** Drops the reader that is furthest behind, until the total is within the bound. */
    dropSlowest: () => {
      while (total() > max) {
        const slowest = [...readers].reduce((one, other) => (other.unread() > one.unread() ? other : one));
        readers.delete(slowest);
        slowest.drop();
      }
    },
  };
};
export type BytesInFlight = ReturnType<typeof createBytesInFlight>;

/** A stream of server-sent events to one client. */
interface SseStream {
  stream: ReadableStream<Uint8Array>;
  /** Sends frames. Closes the connection of a client that is too far behind. */
  send(chunk: Uint8Array): void;
  end(): void;
}

/**
 * Bytes that a client may be behind, not counting its first frames. That is about the length of a snapshot with its 200
 * ended tasks of some kilobytes each: a client that is further behind catches up sooner by connecting again.
 */
export const MAX_UNREAD_BYTES = 1_048_576;

/** Bytes that may be in flight to the readers of all streams. A new reader beyond that is asked to come back later. */
export const MAX_BYTES_IN_FLIGHT = 32 * 1_048_576;

/** Milliseconds of silence after which a heartbeat is sent. The specification sets this number. */
const HEARTBEAT_MS = 30_000;

/** Bytes of the first frames that go out at once: a runtime buffers what it was given, and asks for more once that is out. */
const CHUNK_BYTES = 65_536;

const encoder = new TextEncoder();

/** Formats an event. `data` is JSON, which has no line breaks. */
export const sseFrame = (event: string, data: string, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;

export const bytes = (text: string): Uint8Array => encoder.encode(text);

/**
 * Creates a stream that begins with the `first` frames. Returns undefined when too many bytes are in flight for that. `onGone`
 * is called once, when nothing can be sent any more, whichever side has ended the stream.
 */
export const createSseStream = (
  first: Uint8Array,
  {
    clock,
    connection,
    bytesInFlight,
    onGone,
  }: {
    clock: Clock;
    connection: ClientConnection;
    bytesInFlight: BytesInFlight;
    onGone: (stream: SseStream) => void;
  },
): SseStream | undefined => {
  if (!bytesInFlight.hasRoom(first.length)) return undefined;
  const { maxStreamBytes } = connection;
  const highWaterMark = first.length + MAX_UNREAD_BYTES;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let sentAt = clock.now();
  let sent = 0;
  /** Bytes that had been read at the last heartbeat; undefined when none were waiting to be read. */
  let readBefore: number | undefined;
  let stopHeartbeat: () => void = () => undefined;

  const allSent = () => first.length + sent;
  /** Where the runtime does not report what was read, everything that was sent may still be in flight. */
  const unread = (): number => {
    if (!controller) return 0;
    if (maxStreamBytes !== undefined) return allSent();
    return highWaterMark - (controller.desiredSize ?? highWaterMark) + connection.unsentBytes();
  };

  const leave = () => {
    if (!controller) return;
    controller = undefined;
    stopHeartbeat();
    removeReader();
    onGone(self);
  };

  const end = () => {
    const open = controller;
    leave();
    open?.close();
  };

  const drop = () => {
    end();
    connection.abort();
  };

  const send = (chunk: Uint8Array) => {
    if (!controller) return;
    // Checked before the chunk is added: a client that keeps up is not dropped for a single long event.
    if ((controller.desiredSize ?? 0) <= 0 || sent > (maxStreamBytes ?? Number.POSITIVE_INFINITY)) return drop();
    controller.enqueue(chunk);
    sent += chunk.length;
    sentAt = clock.now();
  };

  const heartbeat = () => {
    // Without this check, a client that never reads would keep its unread bytes in memory while no event is sent.
    const waiting = maxStreamBytes === undefined ? unread() : 0;
    const read = allSent() - waiting;
    if (waiting > 0 && read === readBefore) return drop();
    readBefore = waiting > 0 ? read : undefined;
    if (clock.now() - sentAt >= HEARTBEAT_MS) {
      send(bytes(sseFrame("heartbeat", JSON.stringify({ ts: new Date(clock.now()).toISOString() }))));
    }
    if (controller) stopHeartbeat = clock.after(HEARTBEAT_MS - (clock.now() - sentAt), heartbeat);
  };

  const stream = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
        for (let at = 0; at < first.length; at += CHUNK_BYTES) given.enqueue(first.subarray(at, at + CHUNK_BYTES));
      },
      cancel: leave,
    },
    new ByteLengthQueuingStrategy({ highWaterMark }),
  );
  const removeReader = bytesInFlight.add({ unread, drop });
  connection.disableTimeout();
  const self: SseStream = { stream, send, end };
  stopHeartbeat = clock.after(HEARTBEAT_MS, heartbeat);
  return self;
};

/** What is broadcast, and how. Nothing is read while there are no subscribers. */
interface BroadcastContent {
  maxSubscribers: number;
  /** Milliseconds for which changes are gathered before they are sent. */
  gatherMs: number;
  /** Milliseconds between checks for changes that `onChange` does not report; default: no checks. */
  pollMs?: number;
  /** Called when the first subscriber comes. The returned function is called when the last one has left. */
  begin?(): () => void;
  /** Returns the frames that a new subscriber gets first: the state at the last `begin` or `since`. */
  first(): Uint8Array;
  /** Returns the frames of what has happened since then, in portions of bounded size; undefined ends all streams. */
  since(): Iterable<string> | undefined;
  /** Calls the listener after each change; returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** What all streams of a server share. */
export interface StreamContext {
  clock: Clock;
  log: Log;
  bytesInFlight: BytesInFlight;
}

/**
 * Creates server-sent events for many readers: each event is read and written once, and sent to all. `subscribe` throws what
 * the content throws; at other times that is logged.
 */
export const createBroadcast = (
  { maxSubscribers, gatherMs, pollMs, begin, first, since, onChange }: BroadcastContent,
  { clock, log, bytesInFlight }: StreamContext,
) => {
  const fault = "the events of a stream could not be read";
  const streams = new Set<SseStream>();
  let stopReading: (() => void) | undefined;

  const stop = () => {
    for (const stream of [...streams]) stream.end();
  };

  const update = () => {
    const portions = since();
    if (!portions) return stop();
    for (const frames of portions) {
      const chunk = bytes(frames);
      for (const stream of [...streams]) stream.send(chunk);
      bytesInFlight.dropSlowest();
    }
  };

  const startReading = () => {
    const end = begin?.();
    let cancelTimer: (() => void) | undefined;
    const onTimer = () => {
      cancelTimer = undefined;
      try {
        update();
      } catch (error) {
        log.error(fault, { reason: errorMessage(error) });
      }
    };
    const stopListening = onChange(() => {
      cancelTimer ??= clock.after(gatherMs, onTimer);
    });
    const stopPolling = pollMs === undefined ? undefined : repeat(clock, log, { every: pollMs, work: update, fault });
    stopReading = () => {
      stopListening();
      stopPolling?.();
      cancelTimer?.();
      end?.();
    };
  };

  const restIfUnread = () => {
    if (streams.size > 0) return;
    stopReading?.();
    stopReading = undefined;
  };

  const onGone = (stream: SseStream) => {
    streams.delete(stream);
    restIfUnread();
  };

  return {
    /** Opens a stream; undefined when there are as many subscribers as allowed, or too many bytes are in flight. */
    subscribe: (connection: ClientConnection): ReadableStream<Uint8Array> | undefined => {
      if (streams.size >= maxSubscribers) return undefined;
      try {
        // The other subscribers get now what `first` includes, so that all continue from the same event.
        if (stopReading) update();
        else startReading();
        const stream = createSseStream(first(), { clock, connection, bytesInFlight, onGone });
        if (stream) streams.add(stream);
        return stream?.stream;
      } finally {
        restIfUnread();
      }
    },
    /** Ends all streams. */
    stop,
  };
};
export type Broadcast = ReturnType<typeof createBroadcast>;

/** Responds with a stream; with a 503 where there can be no more. `most` says how many there may be, such as "10 viewers". */
export const respondWithStream = (feed: Broadcast, connection: ClientConnection, most: string): Response => {
  const stream = feed.subscribe(connection);
  if (stream) return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  const error = `There are ${most}, or too much data is on its way to them: close one of them.`;
  return errorResponse(503, error, { "Retry-After": "5" });
};
