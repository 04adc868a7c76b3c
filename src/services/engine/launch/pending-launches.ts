import type { MessageInfo } from "../../../machines/host-events.ts";
import type { Host, ListedSession } from "../../host/host.ts";
import type { Clock } from "../../platform/clock.ts";
import { atMost } from "../../platform/concurrency.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { PendingLaunch, Store } from "../../store/store.ts";

/**
 * Sessions that are created at a time. An agent may launch hundreds in one message: where the host is slow, each of those
 * calls would otherwise spend its time waiting for the others, and be given up. Fewer at a time would mix the first tasks'
 * work into the launching turn, which makes it longer (a hundred launches by 40 % where 20 were created at a time, measured).
 */
const MOST_AT_A_TIME = 100;

/** A launch that has not led to a task yet. */
interface LaunchUnderWay {
  parentSessionID: string;
  /** The batch that its task joins; undefined until that is decided. */
  batchId?: string;
  /** Aborted when the launch is cancelled. */
  signal: AbortSignal;
  cancel(): void;
}

/** Creates the record of launches that have not led to a task yet: an agent may begin many at once. */
export const createLaunchesUnderWay = () => {
  const launches = new Set<LaunchUnderWay>();
  const of = (parentSessionID: string) => [...launches].filter((launch) => launch.parentSessionID === parentSessionID);
  return {
    /** Returns the launches of a session. */
    of,
    /** Counts a launch until `work` is done. */
    during: async <T>(parentSessionID: string, work: (launch: LaunchUnderWay) => Promise<T>): Promise<T> => {
      const abort = new AbortController();
      const launch: LaunchUnderWay = { parentSessionID, signal: abort.signal, cancel: () => abort.abort() };
      launches.add(launch);
      return work(launch).finally(() => launches.delete(launch));
    },
    /** Runs the creation of a session when few enough others are under way. */
    inTurn: atMost(MOST_AT_A_TIME),
    /** Cancels the launches of a session that was stopped or deleted. */
    cancel: (parentSessionID: string) => {
      for (const launch of of(parentSessionID)) launch.cancel();
    },
    /** Cancels all launches. */
    stop: () => {
      for (const launch of launches) launch.cancel();
    },
  };
};

/** Returns the metadata by which a session that was created for a launch is found again. */
export const launchMetadata = (parentSessionID: string, launch: string): Record<string, unknown> => ({
  taskchart: { parentSessionID, launch },
});

const isSessionOf = ({ metadata }: ListedSession, launch: string): boolean => {
  const ours = metadata.taskchart;
  return typeof ours === "object" && ours !== null && "launch" in ours && ours.launch === launch;
};

/** A launch whose session is to be deleted. */
interface OrphanedLaunch {
  launch: PendingLaunch;
  /** The sessions that were created for it; undefined as long as none is known. */
  sessions: readonly string[] | undefined;
  /** True when the host can no longer create the session. */
  isFinal: boolean;
  /** Epoch milliseconds of the next attempt; undefined while one is running. */
  dueAt: number | undefined;
  /** Milliseconds from that attempt to the one after it. */
  pause: number;
}

/** Milliseconds before the first retry. The pause doubles with each retry, up to `MAX_RETRY_MS`. */
const FIRST_RETRY_MS = 3_000;
const MAX_RETRY_MS = 60_000;

/**
 * Milliseconds after a launch at which this process stops searching. Its host had 60 s to create a session and 300 s for
 * a fork. A session that appears even later is found by the next process, because the launch stays in the store.
 */
const SEARCH_LIMIT_MS = 900_000;

/** Number of the parent's newest messages that are read: enough to include everything since the launch. */
const PARENT_MESSAGES = 200;

/** Creates the search for sessions of launches that led to no task, which are deleted. */
export const createOrphanedLaunches = (host: Host, store: Store, clock: Clock, log: Log) => {
  /** Launches whose fork is being created: it may exist without metadata yet. */
  const forksUnderWay = new Set<PendingLaunch>();
  const orphans = new Set<OrphanedLaunch>();
  const isForking = (parentSessionID: string): boolean =>
    [...forksUnderWay].some((launch) => launch.parentSessionID === parentSessionID);
  let stopped = false;

  /** True when the session must be the launch's fork; undefined when the host did not respond. */
  const isProvenFork = async (
    sessionID: string,
    { parentSessionID, at }: PendingLaunch,
  ): Promise<boolean | undefined> => {
    const [copy, parent] = await Promise.all([
      host.messages(sessionID, COMPARED_MESSAGES),
      host.messages(parentSessionID, PARENT_MESSAGES),
    ]);
    if (copy.ok && parent.ok) return isForkOfLaunch(copy.value, parent.value, at);
    const isDeleted = [copy, parent].some((read) => !read.ok && read.failure.kind === "notFound");
    return isDeleted ? false : undefined;
  };

  /** Returns the sessions that must be forks for the launch, though without metadata; undefined if that is unknown now. */
  const unmarkedForks = async (
    listed: ListedSession[],
    { launch, isFinal }: OrphanedLaunch,
  ): Promise<string[] | undefined> => {
    const candidates = listed.filter((session) => mayBeFork(session, launch.at) && !store.get(session.id));
    const proofs = await Promise.all(candidates.map(({ id }) => isProvenFork(id, launch)));
    if (proofs.includes(undefined)) return undefined;
    const ours = candidates.filter((_, index) => proofs[index]).map(({ id }) => id);
    const unproven = candidates.filter(({ id }) => !ours.includes(id)).map(({ id }) => id);
    if (isFinal && ours.length === 0 && unproven.length > 0) {
      log.info("forks are left alone: one may belong to an interrupted launch, but a person may have made it", {
        forks: unproven,
      });
    }
    return ours;
  };

  /** Returns the sessions that were created for the launch; undefined if that is unknown now. */
  const sessionsOf = async (orphan: OrphanedLaunch): Promise<string[] | undefined> => {
    const { launch } = orphan;
    // Checked before and after the call: a fork for another launch of the same parent may have no metadata yet.
    const wasForking = launch.fork && isForking(launch.parentSessionID);
    const listed = await host.sessionsSince(launch.at);
    if (!listed.ok) {
      log.error("could not search for the session of a launch", { ...launch, reason: listed.failure.message });
      return undefined;
    }
    const ours = listed.value.filter((session) => isSessionOf(session, launch.messageID)).map(({ id }) => id);
    if (ours.length > 0 || !launch.fork) return ours;
    return wasForking || isForking(launch.parentSessionID) ? undefined : unmarkedForks(listed.value, orphan);
  };

  /** Deletes a session of the launch. Returns why it may still be there; undefined when it is gone. */
  const deleteSession = async (id: string, launch: PendingLaunch): Promise<string | undefined> => {
    const deleted = await host.deleteSession(id);
    if (deleted.ok) return undefined;
    if (deleted.failure.kind !== "notFound") return deleted.failure.message;
    // The host answers so for other reasons, too. The session was created after the launch began: then it is listed.
    const listed = await host.sessionsSince(launch.at);
    if (!listed.ok) return listed.failure.message;
    return listed.value.some((session) => session.id === id) ? deleted.failure.message : undefined;
  };

  /** Deletes the launch's sessions. Returns true when nothing remains to be done. */
  const deleteSessions = async (orphan: OrphanedLaunch): Promise<boolean> => {
    const { launch, isFinal } = orphan;
    if (stopped && !orphan.sessions) return false;
    const sessions = orphan.sessions ?? (await sessionsOf(orphan));
    if (!sessions || (sessions.length === 0 && !isFinal)) return false;
    // Where the host does not confirm that it has deleted one, it may not list it any more.
    orphan.sessions = sessions;
    for (const id of sessions) {
      // The launch may have got as far as creating its task.
      if (store.get(id)) continue;
      const reason = await deleteSession(id, launch);
      if (reason !== undefined) {
        log.error("could not delete the unused session of a launch", { sessionID: id, reason });
        return false;
      }
      log.info("deleted the unused session of a launch", { sessionID: id });
    }
    store.endLaunch(launch.messageID);
    return true;
  };

  const attempt = async (orphan: OrphanedLaunch): Promise<void> => {
    orphan.dueAt = undefined;
    const isDone = await deleteSessions(orphan).catch((error) => {
      log.error("failed to clean up after a launch", { ...orphan.launch, reason: errorMessage(error) });
      return false;
    });
    if (isDone) return void orphans.delete(orphan);
    const now = clock.now();
    if (now - orphan.launch.at > SEARCH_LIMIT_MS && !orphan.isFinal) {
      orphans.delete(orphan);
      return log.error("still unknown whether a launch created a session; the next OpenCode process searches again", {
        ...orphan.launch,
      });
    }
    orphan.dueAt = now + orphan.pause;
    orphan.pause = Math.min(2 * orphan.pause, MAX_RETRY_MS);
  };

  const begin = (launch: PendingLaunch, sessionID: string | undefined, isFinal: boolean): Promise<void> => {
    const sessions = sessionID === undefined ? undefined : [sessionID];
    const orphan: OrphanedLaunch = { launch, sessions, isFinal, dueAt: undefined, pause: FIRST_RETRY_MS };
    orphans.add(orphan);
    return attempt(orphan);
  };

  return {
    forksUnderWay,
    /** Finds the session created for a launch by its metadata. Undefined: there is none yet, or the host did not respond. */
    find: async (launch: PendingLaunch): Promise<string | undefined> => {
      const listed = await host.sessionsSince(launch.at);
      return listed.ok ? listed.value.find((session) => isSessionOf(session, launch.messageID))?.id : undefined;
    },
    /**
     * Gives up a launch of this process: deletes its session as soon as it appears. Resolves after the first attempt.
     * @param sessionID the session, if the host has already named it
     */
    abandon: (launch: PendingLaunch, sessionID?: string): Promise<void> => begin(launch, sessionID, false),
    /** Does the same for a launch of a process that has ended. Its host ended too, so no session can appear any more. */
    inherit: (launch: PendingLaunch): Promise<void> => begin(launch, undefined, true),
    /** Stops searching. Launches that are still recorded in the store are left to the next process. */
    stop: () => {
      stopped = true;
    },
    /** Starts the next attempts that are due. To be called often. */
    recheck: () => {
      const now = clock.now();
      for (const orphan of orphans) if (orphan.dueAt !== undefined && orphan.dueAt <= now) void attempt(orphan);
    },
  };
};

/** Number of newest messages that are compared between a copy and the conversation that was to be copied. */
export const COMPARED_MESSAGES = 4;

/** How the title of every fork ends. */
const COPY_TITLE = / \(fork #\d+\)$/;

/** True for a listed session that may be the copy requested by a launch at that time. */
export const mayBeFork = ({ parentID, title, createdAt }: ListedSession, launchedAt: number): boolean =>
  parentID === undefined && createdAt >= launchedAt && COPY_TITLE.test(title);

const isBeingWritten = ({ role, isSummary, createdAt, completedAt }: MessageInfo, at: number): boolean =>
  role === "assistant" && !isSummary && createdAt < at && (completedAt === undefined || completedAt >= at);

/** Returns the messages before the assistant message that called the launching tool. */
const messagesToCopy = (parent: MessageInfo[], launchedAt: number): MessageInfo[] => {
  const launching = parent.findLastIndex((message) => isBeingWritten(message, launchedAt));
  return parent.slice(0, Math.max(0, launching));
};

/**
 * True when the newest messages of a copy prove that a launch requested it and that nobody has used it since.
 *
 * A launch copies everything before the assistant message that calls the tool and is still being written. People copy
 * whole conversations, including that message, or everything before one of their own messages: that is what all
 * interfaces of OpenCode offer (terminal, web, desktop, ACP, `run --fork`), and a copy made later contains whatever came
 * before it. So no copy made by a person ends where a launch's copy ends. A copy that is incomplete or has grown proves
 * nothing.
 *
 * `parent` and `copy` are the newest messages of the two sessions, oldest first. Copied messages keep their times.
 */
export const isForkOfLaunch = (copy: MessageInfo[], parent: MessageInfo[], launchedAt: number): boolean => {
  const expected = messagesToCopy(parent, launchedAt).slice(-COMPARED_MESSAGES);
  const newest = copy.slice(-COMPARED_MESSAGES);
  return (
    expected.length > 0 &&
    expected.length === newest.length &&
    expected.every(({ role, createdAt }, at) => newest[at]?.role === role && newest[at]?.createdAt === createdAt)
  );
};
