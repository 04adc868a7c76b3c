// Sessions, whether they have a task or not: how the host described them last, what launched them, and what waits for them.
import { backoff } from "../../machines/chart.ts";
import type { HostEvent, HostSession } from "../../machines/host-events.ts";
import { LOOK_BACKOFF } from "../../machines/outbox/setup.ts";
import { TASK_LIMITS } from "../../machines/task/setup.ts";
import type { Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import { shareCalls } from "../platform/concurrency.ts";
import { remember } from "../platform/remember.ts";
import type { Store } from "../store/store.ts";
import type { HostReads } from "./host-reads.ts";
import type { ProgressLog } from "./progress.ts";

/** Number of sessions of which all is remembered, those that changed last: about 1 MB. */
const MAX_OBSERVED = 1_000;

/** Creates an empty record of sessions as the host's own events last described them. The host sends one for each change. */
export const createObservedSessions = () => {
  const sessions = new Map<string, HostSession>();
  return {
    onHostEvent: (event: HostEvent) => {
      if (event.type === "deleted") sessions.delete(event.sessionID);
      if (event.type !== "session") return;
      remember(sessions, event.sessionID, event.session, MAX_OBSERVED);
    },
    /** Undefined for a session of which no event has come. */
    sessionOf: (sessionID: string): HostSession | undefined => sessions.get(sessionID),
  };
};

type ObservedSessions = ReturnType<typeof createObservedSessions>;

/** `parentID` is undefined for a session without a parent. `isNew`: it is a child that this process saw being created. */
interface KnownSession {
  parentID: string | undefined;
  isNew: boolean;
}

/** Number of sessions whose parent is remembered: a hundred times what one conversation has. */
const MAX_PARENTS = 10_000;

/**
 * Creates the record of which session is the parent of which. Those of tasks, forks included, are in the store; all others are
 * known from the host's events or by asking the host.
 */
export const createSessionTree = (store: Store, host: Host) => {
  const known = new Map<string, KnownSession>();

  /** The parent sessions of tasks, which never change: a record is read once for them. */
  const parentsOfTasks = new Map<string, string>();

  const parentOf = (sessionID: string): string | undefined => {
    const ofTask = parentsOfTasks.get(sessionID) ?? store.get(sessionID)?.task.parentSessionID;
    if (ofTask === undefined) return known.get(sessionID)?.parentID;
    remember(parentsOfTasks, sessionID, ofTask, MAX_PARENTS);
    return ofTask;
  };

  const wasCreatedHere = (sessionID: string): boolean => known.get(sessionID)?.isNew ?? false;

  const ancestors = (sessionID: string): string[] => {
    const chain = [sessionID];
    for (let parent = parentOf(sessionID); parent && !chain.includes(parent); parent = parentOf(parent)) {
      chain.push(parent);
    }
    return chain;
  };

  return {
    onHostEvent: (event: HostEvent) => {
      if (event.type === "deleted") known.delete(event.sessionID);
      if (event.type !== "session") return;
      const { sessionID, isNew } = event;
      const { parentID } = event.session;
      remember(
        known,
        sessionID,
        { parentID, isNew: (isNew && parentID !== undefined) || wasCreatedHere(sessionID) },
        MAX_PARENTS,
      );
    },
    /** Returns the session and its ancestors, nearest first; the last one is a person's own. */
    ancestors,
    /** Returns the tasks that a session works for, nearest first. */
    ancestorTasks: (sessionID: string): Task[] => ancestors(sessionID).flatMap((id) => store.get(id)?.task ?? []),
    /**
     * Asks the host for the parents of the topmost session that is known, up to a session without a parent. Those who ask for
     * the same session meanwhile share that.
     */
    loadAncestors: shareCalls(async (sessionID) => {
      for (;;) {
        const top = ancestors(sessionID).at(-1) ?? sessionID;
        if (known.has(top)) return;
        const session = await host.session(top);
        if (!session.ok) return;
        const { parentID } = session.value;
        // A session keeps its parent, or the lack of one, for as long as it exists.
        remember(known, top, { parentID, isNew: wasCreatedHere(top) }, MAX_PARENTS);
      }
    }),
    /** True for a child session that was created during the life of this process. To the host, a fork is nobody's child. */
    wasCreatedHere,
  };
};

export type SessionTree = ReturnType<typeof createSessionTree>;

/**
 * Creates a function that returns the task for which a session counts: the nearest ancestor that is a task, where the host's
 * own tools began the session. Undefined for a task's session, which counts for itself, and for one without such an ancestor.
 */
export const createAncestorTask = (
  observedSessions: Pick<ObservedSessions, "sessionOf">,
  store: Pick<Store, "get">,
  progress: Pick<ProgressLog, "heardAt">,
) => {
  /** True for a task whose use is counted. */
  const isCounted = (sessionID: string) => progress.heardAt(sessionID) !== undefined;

  return (sessionID: string): string | undefined => {
    for (let id = sessionID; !isCounted(id); ) {
      const parentID = observedSessions.sessionOf(id)?.parentID;
      if (parentID === undefined || store.get(id)) return undefined;
      if (isCounted(parentID)) return parentID;
      id = parentID;
    }
    return undefined;
  };
};

/** What of a session is waited for: that it becomes idle, or that anything of it changes, an idle one included. */
type Awaited = "idle" | "change";

/** Creates what lets work that concerns a session wait for events of it, instead of asking the host again and again. */
export const createSessionWaits = (clock: Clock) => {
  const waits = new Set<{ sessionID: string; what: Awaited; end(): void }>();

  return {
    /** Resolves at the next such event of the session, but after `ms` milliseconds at the latest, or when this process stops. */
    until: (sessionID: string, what: Awaited, ms: number): Promise<void> =>
      new Promise<void>((resolve) => {
        const end = () => {
          cancelTimeout();
          waits.delete(wait);
          resolve();
        };
        const wait = { sessionID, what, end };
        waits.add(wait);
        const cancelTimeout = clock.after(ms, end);
      }),
    onHostEvent: ({ type, sessionID }: HostEvent) => {
      for (const wait of waits) {
        if (wait.sessionID !== sessionID) continue;
        if (type === "idle" || (type === "session" && wait.what === "change")) wait.end();
      }
    },
    stop: () => {
      for (const { end } of waits) end();
    },
  };
};

type SessionWaits = ReturnType<typeof createSessionWaits>;

/**
 * Creates the register of sessions of tasks that another process works on now. What they still do in this one is stopped, and
 * delayed until then.
 * @param abort aborts a session, as often as it takes
 * @param ancestors returns a session and its ancestors
 */
export const createLostSessions = (
  abort: (sessionID: string) => Promise<void>,
  ancestors: (sessionID: string) => string[],
) => {
  const stopping = new Map<string, Promise<void>>();
  return {
    /** Aborts a session. Resolves when the host has confirmed that, or was asked in vain as often as it is. */
    stop: (sessionID: string): Promise<void> => {
      const stopped = abort(sessionID).finally(() => {
        if (stopping.get(sessionID) === stopped) stopping.delete(sessionID);
      });
      stopping.set(sessionID, stopped);
      return stopped;
    },
    /** Resolves when a session that is being stopped, or an ancestor that is, has stopped; undefined for any other. */
    untilStopped: (sessionID: string): Promise<void> | undefined => {
      if (stopping.size === 0) return undefined;
      return ancestors(sessionID).flatMap((id) => stopping.get(id) ?? [])[0];
    },
  };
};

/** Remembers which sessions of tasks are being stopped: the next run must not begin before, or it would be stopped, too. */
export const createStopsUnderWay = () => {
  const underWay = new Map<string, Promise<unknown>>();
  return {
    /** Notes a stop until it is done. Returns it. */
    during: <T>(sessionID: string, stop: Promise<T>): Promise<T> => {
      const noted = stop.finally(() => {
        if (underWay.get(sessionID) === noted) underWay.delete(sessionID);
      });
      underWay.set(sessionID, noted);
      return noted;
    },
    /** Resolves when the newest stop of a session is done, whatever came of it. */
    untilDone: async (sessionID: string): Promise<void> => {
      await Promise.allSettled([underWay.get(sessionID)]);
    },
  };
};

/** What shows whether something in a session is taken back, and that no other process is alive whose events this one misses. */
interface Sources {
  reads: Pick<HostReads, "session">;
  observedSessions: Pick<ObservedSessions, "sessionOf">;
  store: Pick<Store, "isAlone">;
  sessionWaits: Pick<SessionWaits, "until">;
}

const wait = async ({ reads, sessionWaits }: Sources, sessionID: string, isWanted: () => boolean): Promise<void> => {
  for (let looks = 1; isWanted(); looks += 1) {
    const session = await reads.session(sessionID);
    if (!session.ok || !session.value.isReverted) return;
    await sessionWaits.until(sessionID, "change", backoff(looks, LOOK_BACKOFF));
  }
};

/**
 * Resolves once nothing that a person took back is left in a session: a prompt would delete it for good. Also resolves when
 * `isWanted` no longer holds, or when the host cannot read the session. Returns undefined where nothing stands in
 * the way.
 */
export const untilNothingIsTakenBack = (
  sources: Sources,
  sessionID: string,
  isWanted: () => boolean,
): Promise<void> | undefined => {
  const { observedSessions, store } = sources;
  const observed = store.isAlone() ? observedSessions.sessionOf(sessionID) : undefined;
  return observed && !observed.isReverted ? undefined : wait(sources, sessionID, isWanted);
};

/**
 * Stops what a prompt begins here, though another process took its task over, or removed it, while the prompt was on its
 * way: the work would be done twice. The session begins to work a moment after the host has taken the prompt.
 */
export const stopWhile = async (
  host: Pick<Host, "abort">,
  clock: Clock,
  sessionID: string,
  isLost: () => boolean,
): Promise<void> => {
  for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts && isLost(); attempt += 1) {
    await host.abort(sessionID);
    await sleep(clock, TASK_LIMITS.stopAgainAfter);
  }
};
