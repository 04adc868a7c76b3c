import { type Clock, repeat } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { ClientConnection } from "../access/request-handling.ts";
import { type BytesInFlight, bytes, createSseStream, type SseStream } from "./sse-stream.ts";

/** Server-sent events for many readers: each event is read and written once, and sent to all. */
export interface Broadcast {
  /** Opens a stream; undefined when there are as many subscribers as allowed, or too many bytes are in flight. */
  subscribe(connection: ClientConnection): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams. */
  stop(): void;
}

/** What is broadcast, and how. Nothing is read while there are no subscribers. */
export interface BroadcastContent {
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

/** Creates a broadcast. `subscribe` throws what the content throws; at other times that is logged. */
export const createBroadcast = (
  { maxSubscribers, gatherMs, pollMs, begin, first, since, onChange }: BroadcastContent,
  { clock, log, bytesInFlight }: StreamContext,
): Broadcast => {
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
    subscribe: (connection) => {
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
    stop,
  };
};
