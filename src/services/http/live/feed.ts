import type { LiveSource } from "../../inspection/protocol.ts";
import type { Clock } from "../../platform/clock.ts";
import type { BytesInFlight } from "../events/bytes-in-flight.ts";
import { bytes, type ClientConnection, createSseStream, frame, type SseStream } from "../events/sse-stream.ts";

/** What can be watched, sent to all who watch it. */
export interface LiveFeed {
  /** A stream that begins with all that is kept; undefined when there are as many watchers as there may be, or no room. */
  subscribe(connection: ClientConnection): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams. */
  stop(): void;
}

/** A person has a page or two open; each costs a connection and up to `MOST_UNREAD` of memory. */
export const MOST_WATCHERS = 10;

/** Milliseconds for which steps are gathered: one event of the host leads to a dozen, and no eye sees them apart. */
const GATHER = 40;

/** Reads nothing while nobody has subscribed. The event `begin` has all that is kept, each `more` what has come since. */
export const createLiveFeed = (watched: LiveSource, clock: Clock, underWay: BytesInFlight): LiveFeed => {
  const subscribers = new Set<SseStream>();
  let known = 0;
  let callOff: (() => void) | undefined;
  let stopListening: (() => void) | undefined;

  const written = (name: "begin" | "more", since: { upTo: number }): Uint8Array =>
    bytes(frame(name, JSON.stringify(since), since.upTo));

  const stop = () => {
    for (const subscriber of [...subscribers]) subscriber.end();
  };

  const sendMore = () => {
    if (!watched.isOn()) return stop();
    const more = watched.since(known);
    if (more.upTo === known) return;
    known = more.upTo;
    const chunk = written("more", more);
    for (const subscriber of [...subscribers]) subscriber.send(chunk);
    underWay.relieve();
  };

  const listen = () => {
    known = watched.since(0).upTo;
    stopListening = watched.onChange(() => {
      callOff ??= clock.after(GATHER, () => {
        callOff = undefined;
        sendMore();
      });
    });
  };

  const restIfUnread = () => {
    if (subscribers.size > 0) return;
    stopListening?.();
    stopListening = undefined;
    callOff?.();
    callOff = undefined;
  };

  return {
    subscribe: (connection) => {
      if (subscribers.size >= MOST_WATCHERS) return undefined;
      // Those who are there get what the newcomer begins with, so that all go on from the same number.
      if (stopListening) sendMore();
      else listen();
      const subscriber = createSseStream(written("begin", watched.since(0)), {
        clock,
        connection,
        underWay,
        onGone: (gone) => {
          subscribers.delete(gone);
          restIfUnread();
        },
      });
      if (subscriber) subscribers.add(subscriber);
      else restIfUnread();
      return subscriber?.stream;
    },
    stop,
  };
};
