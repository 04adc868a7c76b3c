import { hasEnded } from "../../../task.ts";
import type { Clock } from "../../platform/clock.ts";
import { repeat } from "../../platform/interval.ts";
import type { Log } from "../../platform/log.ts";
import { errorMessage } from "../../platform/log.ts";
import { statsOf } from "../contract/stats.ts";
import type { ShownChange, StatusSource } from "../contract/status-source.ts";
import type { BytesInFlight } from "./bytes-in-flight.ts";
import { eventNames } from "./change-events.ts";
import { bytes, type ClientConnection, createSseStream, frame, type SseStream } from "./sse-stream.ts";

/** The events of one process: read once, written once, sent to all who subscribe. */
export interface TaskFeed {
  /** A stream that begins with a snapshot; undefined when there are as many subscribers as there may be, or no room. */
  subscribe(connection: ClientConnection): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams. */
  stop(): void;
}

/** A dashboard needs one or two; each costs a connection. What all cost in memory is `MOST_UNDER_WAY`. */
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

/** Changes that wait for a file have numbers between two whole ones: shown is the lower one, again and again. */
const shownNumber = (change: number): number => Math.floor(change);

/** Reads nothing while nobody has subscribed. */
export const createTaskFeed = (source: StatusSource, clock: Clock, log: Log, underWay: BytesInFlight): TaskFeed => {
  const subscribers = new Set<SseStream>();
  const live = new Set<string>();
  /** The tasks that a stream has told of. */
  const told = new Set<string>();
  const known = { at: 0, readAt: "", live, count: 0 };
  /** The newest one, for all who come before anything else happens. */
  let newest: { frame: Uint8Array; at: number; count: number } | undefined;
  let stopReading: (() => void) | undefined;

  const nowISO = () => new Date(clock.now()).toISOString();

  const framesOf = (change: ShownChange): string => {
    const data = JSON.stringify(change.task);
    const names = eventNames(change, known);
    if (hasEnded(change.task)) live.delete(change.task.sessionID);
    else live.add(change.task.sessionID);
    told.add(change.task.sessionID);
    if (change.createdChange > known.at) known.count += 1;
    return names.map((name) => frame(name, data, shownNumber(change.change))).join("");
  };

  const send = (frames: string) => {
    const chunk = bytes(frames);
    for (const subscriber of [...subscribers]) subscriber.send(chunk);
    underWay.relieve();
  };

  /**
   * Sends which tasks are gone. A removal has no number: it shows in how many tasks there are. Where a launch that has not
   * been read yet makes up for it, the next time shows it.
   */
  const readRemovals = () => {
    const count = source.count();
    if (count === known.count) return;
    known.count = count;
    const gone = [...told].filter((id) => !source.has(id));
    for (const id of gone) {
      told.delete(id);
      live.delete(id);
    }
    const at = shownNumber(known.at);
    if (gone.length > 0)
      send(gone.map((sessionID) => frame("task.removed", JSON.stringify({ sessionID }), at)).join(""));
  };

  /** Sends what has changed since the last time. */
  const read = () => {
    const readAt = nowISO();
    for (;;) {
      const changes = source.changedSince(known.at, AT_A_TIME);
      const last = changes.at(-1);
      if (!last) break;
      send(changes.map(framesOf).join(""));
      known.at = last.change;
      if (changes.length < AT_A_TIME) break;
    }
    readRemovals();
    known.readAt = readAt;
  };

  const readSafely = () => {
    try {
      read();
    } catch (error) {
      log.error(FAULT, { reason: errorMessage(error) });
    }
  };

  const begin = () => {
    known.at = source.latestChange();
    known.count = source.count();
    known.readAt = nowISO();
    live.clear();
    told.clear();
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
    newest = undefined;
  };

  /** What everybody who gets all changes after `known.at` must know before. */
  const snapshot = (): Uint8Array => {
    if (newest?.at === known.at && newest.count === known.count) return newest.frame;
    // A task that another process ends between the two readings is in both: as it was, and as it is.
    const tasks = new Map(
      [...source.live(), ...source.newestEnded(NEWEST_ENDED)].map((task) => [task.sessionID, task]),
    );
    for (const id of tasks.keys()) told.add(id);
    const at = shownNumber(known.at);
    const data = { tasks: [...tasks.values()], stats: statsOf(source.stats()), at };
    newest = { frame: bytes(frame("snapshot", JSON.stringify(data), at)), at: known.at, count: known.count };
    return newest.frame;
  };

  return {
    subscribe: (connection) => {
      if (subscribers.size >= MOST_SUBSCRIBERS) return undefined;
      try {
        // Those who are there get what the snapshot will have, so that all go on from the same number.
        if (stopReading) read();
        else begin();
        const subscriber = createSseStream(snapshot(), {
          clock,
          connection,
          underWay,
          onGone: (gone) => {
            subscribers.delete(gone);
            restIfUnread();
          },
        });
        if (subscriber) subscribers.add(subscriber);
        return subscriber?.stream;
      } finally {
        restIfUnread();
      }
    },
    stop: () => {
      for (const subscriber of [...subscribers]) subscriber.end();
    },
  };
};
