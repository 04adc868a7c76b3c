// What is known of sessions, whether they have a task or not: how the host described them last, and what launched them.
import type { HostEvent, HostSession } from "../../machines/host-events.ts";
import type { Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import { shareCalls } from "../platform/concurrency.ts";
import { remember } from "../platform/remember.ts";
import type { Store } from "../store/store.ts";
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

export type ObservedSessions = ReturnType<typeof createObservedSessions>;

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
        const chain = ancestors(sessionID);
        const top = chain.at(-1) ?? sessionID;
        if (known.has(top)) return;
        const session = await host.session(top);
        if (!session.ok) return;
        const { parentID } = session.value;
        // A session keeps its parent, or the lack of one, for as long as it exists.
        remember(known, top, { parentID, isNew: wasCreatedHere(top) }, MAX_PARENTS);
        if (parentID === undefined || chain.includes(parentID)) return;
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
