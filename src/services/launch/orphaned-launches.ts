import type { Host, ListedSession } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { PendingLaunch, Store } from "../store/store.ts";
import { COMPARED_MESSAGES, isForkOfLaunch, mayBeFork } from "./unmarked-fork.ts";

/** The key under which a session that was made for a launch is found again. */
export const launchMetadata = (parentSessionID: string, launch: string): Record<string, unknown> => ({
  taskchart: { parentSessionID, launch },
});

const isSessionOf = ({ metadata }: ListedSession, launch: string): boolean => {
  const mark = metadata.taskchart;
  return typeof mark === "object" && mark !== null && "launch" in mark && mark.launch === launch;
};

/** Finds, and removes, the sessions of launches that lead to no task. */
export interface OrphanedLaunches {
  /** The session that was made for the launch, going by its mark; undefined: there is none yet, or the host does not say. */
  find(launch: PendingLaunch): Promise<string | undefined>;
  /**
   * This process gives the launch up: its session is removed as soon as it is there. Resolves when that was tried once.
   * `sessionID` is given where the host has said which session it is.
   */
  abandon(launch: PendingLaunch, sessionID?: string): Promise<void>;
  /** The same for a launch of a process that is gone, its host with it: what is not there now will not come any more. */
  inherit(launch: PendingLaunch): Promise<void>;
  /** Tries again what is due; to be called often. */
  recheck(): void;
  /** Nothing is looked for any more: what is on record is left to the next process. */
  stop(): void;
}

/** What leftovers are looked for with. */
export interface OrphanedLaunchesDeps {
  host: Host;
  store: Store;
  clock: Clock;
  log: Log;
  /** The launches whose fork is being made just now, and may have no mark yet. */
  forksUnderWay: ReadonlySet<PendingLaunch>;
}

/** A launch whose session is to go. */
interface Abandoned {
  launch: PendingLaunch;
  sessionID: string | undefined;
  /** True when the host cannot make the session any more. */
  isFinal: boolean;
  /** Epoch milliseconds of the next try; undefined while one is under way. */
  dueAt: number | undefined;
  /** Milliseconds to the try after that. */
  pause: number;
}

/** Milliseconds to the first further try; each pause is twice the one before, up to `LONGEST_PAUSE`. */
const FIRST_RETRY_MS = 3_000;
const MAX_RETRY_MS = 60_000;

/**
 * Milliseconds after a launch from which on this process looks no more. Its host had 60 s for a session and 300 s for a
 * fork; what is later still is found by the next process, for the launch stays in the store.
 */
const SEARCH_LIMIT_MS = 900_000;

/** The parent's newest messages that are read: what it said since the launch is among them. */
const RECENT = 200;

export const createOrphanedLaunches = ({
  host,
  store,
  clock,
  log,
  forksUnderWay,
}: OrphanedLaunchesDeps): OrphanedLaunches => {
  const abandoned = new Set<Abandoned>();
  const isForking = (parentSessionID: string): boolean =>
    [...forksUnderWay].some((launch) => launch.parentSessionID === parentSessionID);
  let stopped = false;

  /** True when the session can only be the launch's copy; undefined when the host does not say. */
  const isProven = async (sessionID: string, { parentSessionID, at }: PendingLaunch): Promise<boolean | undefined> => {
    const [copy, parent] = await Promise.all([
      host.messages(sessionID, COMPARED_MESSAGES),
      host.messages(parentSessionID, RECENT),
    ]);
    if (copy.ok && parent.ok) return isForkOfLaunch(copy.value, parent.value, at);
    const isGone = [copy, parent].some((read) => !read.ok && read.failure.kind === "notFound");
    return isGone ? false : undefined;
  };

  /** The sessions that can only be unmarked copies for the launch; undefined when that cannot be told now. */
  const unmarkedForks = async (
    listed: ListedSession[],
    { launch, isFinal }: Abandoned,
  ): Promise<string[] | undefined> => {
    const candidates = listed.filter((session) => mayBeFork(session, launch.at) && !store.get(session.id));
    const proofs = await Promise.all(candidates.map(({ id }) => isProven(id, launch)));
    if (proofs.includes(undefined)) return undefined;
    const ours = candidates.filter((_, index) => proofs[index]).map(({ id }) => id);
    const left = candidates.filter(({ id }) => !ours.includes(id)).map(({ id }) => id);
    if (isFinal && ours.length === 0 && left.length > 0)
      log.info("forks are left alone: one may be of a launch that was cut off, but a person may have made them", {
        left,
      });
    return ours;
  };

  /** The sessions that were made for the launch; undefined when that cannot be told now. */
  const sessionsOf = async (left: Abandoned): Promise<string[] | undefined> => {
    const { launch } = left;
    const couldBeOthers = launch.fork && isForking(launch.parentSessionID);
    const listed = await host.sessionsSince(launch.at);
    if (!listed.ok) {
      log.error("the session of a launch could not be looked for", { ...launch, reason: listed.failure.message });
      return undefined;
    }
    const marked = listed.value.filter((session) => isSessionOf(session, launch.messageID)).map(({ id }) => id);
    if (marked.length > 0 || !launch.fork) return marked;
    return couldBeOthers || isForking(launch.parentSessionID) ? undefined : unmarkedForks(listed.value, left);
  };

  /** Removes the launch's sessions. True when nothing is left to be done. */
  const remove = async (left: Abandoned): Promise<boolean> => {
    const { launch, sessionID, isFinal } = left;
    if (stopped && sessionID === undefined) return false;
    const sessions = sessionID === undefined ? await sessionsOf(left) : [sessionID];
    if (!sessions || (sessions.length === 0 && !isFinal)) return false;
    for (const id of sessions) {
      // The launch may have got as far as its task.
      if (store.get(id)) continue;
      const removed = await host.deleteSession(id);
      if (!removed.ok && removed.failure.kind !== "notFound") {
        log.error("a session made for nothing could not be removed", {
          sessionID: id,
          reason: removed.failure.message,
        });
        return false;
      }
      log.info("a session of a launch that led to no task is removed", { sessionID: id });
    }
    store.endLaunch(launch.messageID);
    return true;
  };

  const attempt = async (left: Abandoned): Promise<void> => {
    left.dueAt = undefined;
    const isDone = await remove(left).catch((error) => {
      log.error("the session of a launch could not be removed", { ...left.launch, reason: errorMessage(error) });
      return false;
    });
    if (isDone) return void abandoned.delete(left);
    const now = clock.now();
    if (now - left.launch.at > SEARCH_LIMIT_MS && !left.isFinal) {
      abandoned.delete(left);
      return log.error("whether a launch made a session is not known; the next OpenCode looks again", {
        ...left.launch,
      });
    }
    left.dueAt = now + left.pause;
    left.pause = Math.min(2 * left.pause, MAX_RETRY_MS);
  };

  const begin = (launch: PendingLaunch, sessionID: string | undefined, isFinal: boolean): Promise<void> => {
    const left: Abandoned = { launch, sessionID, isFinal, dueAt: undefined, pause: FIRST_RETRY_MS };
    abandoned.add(left);
    return attempt(left);
  };

  return {
    find: async (launch) => {
      const listed = await host.sessionsSince(launch.at);
      return listed.ok ? listed.value.find((session) => isSessionOf(session, launch.messageID))?.id : undefined;
    },
    abandon: (launch, sessionID) => begin(launch, sessionID, false),
    inherit: (launch) => begin(launch, undefined, true),
    stop: () => {
      stopped = true;
    },
    recheck: () => {
      const now = clock.now();
      for (const left of abandoned) if (left.dueAt !== undefined && left.dueAt <= now) void attempt(left);
    },
  };
};
