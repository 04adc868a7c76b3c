import { hasEnded } from "../../task.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { reasonOf } from "../log.ts";
import { repeat } from "../recurring.ts";
import { eventNames } from "./change-events.ts";
import { statsOf } from "./figures.ts";
import type { ShownChange, StatusSource } from "./source.ts";
import { bytes, type Connection, createSubscriber, frame, type Subscriber } from "./subscriber.ts";

/** The events of one process: read once, written once, sent to all who subscribe. */
export interface Feed {
  /** A stream that begins with a snapshot; undefined when there are as many subscribers as there may be. */
  subscribe(connection: Connection): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams. */
  stop(): void;
}

/** A dashboard needs one or two; each costs a connection and up to a snapshot and `MOST_UNREAD` of memory. */
export const MOST_SUBSCRIBERS = 100;

/** Ended tasks in a snapshot. */
const NEWEST_ENDED = 200;

/** Milliseconds for which changes are gathered: far below what a person notices, and one reading for many of them. */
const GATHER = 15;

/** Milliseconds between two looks for changes of other processes, of which nobody tells. They are to show within 2 s. */
const POLL = 1_000;

/** Changes that are read at a time. */
const AT_A_TIME = 200;

const FAULT = "the changes of tasks could not be read";

/** Reads nothing while nobody has subscribed. */
export const createFeed = (source: StatusSource, clock: Clock, log: Log): Feed => {
  const subscribers = new Set<Subscriber>();
  const live = new Set<string>();
  const known = { at: 0, readAt: "", live };
  let stopReading: (() => void) | undefined;

  const nowISO = () => new Date(clock.now()).toISOString();

  const framesOf = (change: ShownChange): string => {
    const data = JSON.stringify(change.task);
    const names = eventNames(change, known);
    if (hasEnded(change.task)) live.delete(change.task.sessionID);
    else live.add(change.task.sessionID);
    return names.map((name) => frame(name, data, change.change)).join("");
  };

  /** Sends what has changed since the last time. */
  const read = () => {
    const readAt = nowISO();
    for (;;) {
      const changes = source.changedSince(known.at, AT_A_TIME);
      const newest = changes.at(-1);
      if (!newest) break;
      const chunk = bytes(changes.map(framesOf).join(""));
      known.at = newest.change;
      for (const subscriber of [...subscribers]) subscriber.send(chunk);
      if (changes.length < AT_A_TIME) break;
    }
    known.readAt = readAt;
  };

  const readSafely = () => {
    try {
      read();
    } catch (error) {
      log.error(FAULT, { reason: reasonOf(error) });
    }
  };

  const begin = () => {
    known.at = source.latestChange();
    known.readAt = nowISO();
    live.clear();
    for (const { sessionID } of source.live()) live.add(sessionID);
    let callOff: (() => void) | undefined;
    const stopListening = source.onChange(() => {
      callOff ??= clock.after(GATHER, () => {
        callOff = undefined;
        readSafely();
      });
    });
    const stopPolling = repeat(clock, log, { every: POLL, work: read, fault: FAULT });
    stopReading = () => {
      stopListening();
      stopPolling();
      callOff?.();
    };
  };

  const restIfUnread = () => {
    if (subscribers.size > 0) return;
    stopReading?.();
    stopReading = undefined;
  };

  /** What everybody who gets all changes after `known.at` must know before. */
  const snapshot = (): Uint8Array => {
    // A task that another process ends between the two readings is in both: as it was, and as it is.
    const tasks = new Map(
      [...source.live(), ...source.newestEnded(NEWEST_ENDED)].map((task) => [task.sessionID, task]),
    );
    const data = { tasks: [...tasks.values()], stats: statsOf(source.tallies()), at: known.at };
    return bytes(frame("snapshot", JSON.stringify(data), known.at));
  };

  return {
    subscribe: (connection) => {
      if (subscribers.size >= MOST_SUBSCRIBERS) return undefined;
      try {
        // Those who are there get what the snapshot will have, so that all go on from the same number.
        if (stopReading) read();
        else begin();
        const subscriber = createSubscriber(snapshot(), {
          clock,
          connection,
          onGone: (gone) => {
            subscribers.delete(gone);
            restIfUnread();
          },
        });
        subscribers.add(subscriber);
        return subscriber.stream;
      } finally {
        restIfUnread();
      }
    },
    stop: () => {
      for (const subscriber of [...subscribers]) subscriber.end();
    },
  };
};
