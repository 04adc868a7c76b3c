import { hasEnded } from "../../../task.ts";
import { type ApiTask, type ApiTaskChange, briefTask, wholeWithin } from "../contract/api-task.ts";
import { toStats } from "../contract/schemas.ts";
import type { StatusSource } from "../engine-source.ts";
import { type Broadcast, bytes, createBroadcast, type StreamContext, sseFrame } from "./sse-stream.ts";
import { createUserInteractions } from "./user-interactions.ts";

/** A dashboard needs one or two. Each costs a connection; `MAX_BYTES_IN_FLIGHT` bounds what all cost in memory. */
export const MAX_SUBSCRIBERS = 100;

/** Ended tasks in a snapshot. */
const ENDED_TASKS = 200;

/** Milliseconds for which changes are gathered: far below what a person notices, and one reading serves many of them. */
const GATHER_MS = 15;

/** Milliseconds between checks for changes of other processes, which send no signal. They are to show within 2 s. */
const POLL_MS = 1_000;

/**
 * Characters of the tasks that are whole in a snapshot, and in what is sent at once; those that go beyond it are shortened. With
 * 21 results of 5 MB and ten readers that never read, whole tasks made the process grow by 1.8 GB on Node and 9 GB on Bun
 * (measured). An answer of a model has 128,000 at most, where OpenCode limits it to 32,000 tokens (1.18.33).
 */
const WHOLE_CHARS = 1_000_000;

/** Changes that are read at a time. */
const CHANGES_PER_READ = 200;

/**
 * Waiting tasks whose places are compared with the queue in a poll: so many from its front, where a place says how soon the
 * task starts, and so many of the others, in turn. A poll then costs the same however many wait.
 */
const PLACES_PER_POLL = 10;

/** The name of a task's change on the events stream. */
type EventName = "task.created" | "task.updated" | "task.completed" | "task.error" | "task.cancelled";

/** The state of the tasks when changes were last read. */
interface LastRead {
  /** The number of the newest change that was read. */
  change: number;
  /** When that was, ISO 8601. */
  at: string;
  /** Ids of the tasks that had not ended. */
  live: ReadonlySet<string>;
}

/**
 * Returns the names of what happened to a task since the last reading. A task that was launched and ended in between has
 * two: a program that displays tasks must learn of the task before it learns of its end.
 *
 * A change of an ended task, such as that its result was read, is an update. The task has ended anew when it was live, or
 * when its newest run began after the last reading: then it was resumed and ended in between.
 */
const eventNames = ({ createdChange, task }: ApiTaskChange, last: LastRead): EventName[] => {
  const isNew = createdChange > last.change;
  const created: EventName[] = isNew ? ["task.created"] : [];
  if (!hasEnded(task)) return isNew ? created : ["task.updated"];
  const endedSince = isNew || last.live.has(task.sessionID) || task.runStartedAt > last.at;
  if (!endedSince) return ["task.updated"];
  return [
    ...created,
    task.status === "error" ? "task.error" : task.status === "cancelled" ? "task.cancelled" : "task.completed",
  ];
};

/** A change that waits for the database file has a number between two whole ones; clients see the lower one repeatedly. */
const shownNumber = (change: number): number => Math.floor(change);

/**
 * Creates the feed of all tasks: their changes as events. Each stream begins with a snapshot. Nothing is read while nobody has
 * subscribed.
 */
export const createTaskFeed = (source: StatusSource, context: StreamContext): Broadcast => {
  const live = new Set<string>();
  /** The tasks that the stream has mentioned. */
  const mentioned = new Set<string>();
  const last = { change: 0, at: "", live, count: 0 };
  /** The newest snapshot, for all who subscribe before anything else happens. */
  let snapshot: { frame: Uint8Array; change: number; count: number } | undefined;

  /** The places in the queue that were sent last, as JSON, by task. */
  const places = new Map<string, string>();
  let placesReadAt = 0;
  /** Goes round those tasks, from poll to poll. */
  let round = places.keys();

  const interactions = createUserInteractions(source);

  const notePlace = ({ sessionID, queue }: ApiTask): void => {
    if (queue === undefined) places.delete(sessionID);
    else places.set(sessionID, JSON.stringify(queue));
  };

  const nowISO = () => new Date(context.clock.now()).toISOString();

  const framesOf = (change: ApiTaskChange): string => {
    const { task } = change;
    const data = JSON.stringify(task);
    const names = eventNames(change, last);
    if (hasEnded(task)) live.delete(task.sessionID);
    else live.add(task.sessionID);
    mentioned.add(task.sessionID);
    notePlace(task);
    interactions.note(task);
    if (change.createdChange > last.change) last.count += 1;
    return names.map((name) => sseFrame(name, data, shownNumber(change.change))).join("");
  };

  /**
   * Returns the frames of the tasks that were cleared. A removal has no number: it shows in the number of tasks. Where a
   * launch that has not been read yet makes up for it, the next reading finds it.
   */
  const removals = (): string => {
    const count = source.count();
    if (count === last.count) return "";
    last.count = count;
    const gone = [...mentioned].filter((id) => !source.has(id));
    for (const id of gone) {
      mentioned.delete(id);
      live.delete(id);
      places.delete(id);
      interactions.forget(id);
    }
    const at = shownNumber(last.change);
    return gone.map((sessionID) => sseFrame("task.removed", JSON.stringify({ sessionID }), at)).join("");
  };

  /** Returns the next waiting tasks whose turn it is, at most `PLACES_PER_POLL`. */
  const nextOfRound = (): string[] => {
    const ids: string[] = [];
    while (ids.length < Math.min(PLACES_PER_POLL, places.size)) {
      const next = round.next();
      if (next.done) round = places.keys();
      else ids.push(next.value);
    }
    return ids;
  };

  /**
   * Returns the frames of tasks that have moved up or back in the queue. Nothing of theirs is stored then: the place of a
   * run follows from the others. Once per poll, as a reading of the queue takes its time.
   */
  const moves = (): string => {
    if (places.size === 0 || context.clock.now() - placesReadAt < POLL_MS) return "";
    placesReadAt = context.clock.now();
    const turn = nextOfRound();
    const queue = [...source.places(turn, PLACES_PER_POLL)];
    const front = queue.toSorted(([, one], [, other]) => one.place - other.place).slice(0, PLACES_PER_POLL);
    const looked = new Map([...front, ...queue.filter(([id]) => turn.includes(id))]);
    const show = wholeWithin(WHOLE_CHARS);
    const moved = [...looked].flatMap(([id, place]) => {
      const sent = places.get(id);
      const task = sent === undefined || JSON.stringify(place) === sent ? undefined : source.task(id);
      return task ? [show(task)] : [];
    });
    for (const task of moved) notePlace(task);
    if (moved.length > 0) snapshot = undefined;
    return moved.map((task) => sseFrame("task.updated", JSON.stringify(task), shownNumber(last.change))).join("");
  };

  function* since(): Iterable<string> {
    const at = nowISO();
    for (;;) {
      const changes = source.changedSince(last.change, CHANGES_PER_READ, wholeWithin(WHOLE_CHARS));
      const newest = changes.at(-1);
      if (!newest) break;
      yield changes.map(framesOf).join("");
      last.change = newest.change;
      if (changes.length < CHANGES_PER_READ) break;
    }
    const removed = removals();
    if (removed !== "") yield removed;
    const asked = interactions.frames(shownNumber(last.change));
    if (asked !== "") yield asked;
    const moved = moves();
    if (moved !== "") yield moved;
    last.at = at;
  }

  const begin = () => {
    last.change = source.latestChange();
    last.count = source.count();
    last.at = nowISO();
    live.clear();
    mentioned.clear();
    places.clear();
    interactions.clear();
    for (const task of source.live(briefTask)) {
      live.add(task.sessionID);
      notePlace(task);
      interactions.note(task);
    }
    interactions.begin();
    return () => {
      snapshot = undefined;
    };
  };

  const first = (): Uint8Array => {
    if (snapshot?.change === last.change && snapshot.count === last.count) return snapshot.frame;
    // A task that another process ends between the two readings is in both; the later one counts.
    const show = wholeWithin(WHOLE_CHARS);
    const shown = [...source.live(show), ...source.newestEnded(ENDED_TASKS, show)];
    const tasks = new Map(shown.map((task) => [task.sessionID, task]));
    for (const id of tasks.keys()) mentioned.add(id);
    const at = shownNumber(last.change);
    const data = { tasks: [...tasks.values()], stats: toStats(source.stats()), at };
    const { change, count } = last;
    snapshot = { frame: bytes(sseFrame("snapshot", JSON.stringify(data), at)), change, count };
    return snapshot.frame;
  };

  const limits = { maxSubscribers: MAX_SUBSCRIBERS, gatherMs: GATHER_MS, pollMs: POLL_MS };
  return createBroadcast({ ...limits, begin, first, since, onChange: source.onChange }, context);
};
