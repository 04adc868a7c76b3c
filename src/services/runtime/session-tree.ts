import type { HostEvent } from "../../machines/host-events.ts";
import type { Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import { shareCalls } from "../platform/concurrency.ts";
import { remember } from "../platform/remember.ts";
import type { Store } from "../store/store.ts";

/** `parentID` is undefined for a session without a parent. `isNew`: it is a child that this process saw being created. */
interface KnownSession {
  parentID: string | undefined;
  isNew: boolean;
}

/** Number of sessions that are remembered: a hundred times what one conversation has. */
const MAX_REMEMBERED = 10_000;

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
    remember(parentsOfTasks, sessionID, ofTask, MAX_REMEMBERED);
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
        MAX_REMEMBERED,
      );
    },
    /** Returns the session and all above it, nearest first; the last one is a person's own. */
    ancestors,
    /** Returns the tasks that a session works for, nearest first. */
    tasksAbove: (sessionID: string): Task[] => ancestors(sessionID).flatMap((id) => store.get(id)?.task ?? []),
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
        remember(known, top, { parentID, isNew: wasCreatedHere(top) }, MAX_REMEMBERED);
        if (parentID === undefined || chain.includes(parentID)) return;
      }
    }),
    /** True for a child session that was created during the life of this process. To the host, a fork is nobody's child. */
    wasCreatedHere,
  };
};

export type SessionTree = ReturnType<typeof createSessionTree>;
