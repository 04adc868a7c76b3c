import type { HostEvent } from "../machines/supervisor-events.ts";
import type { Store } from "./store/store.ts";

/** Which session stands below which. */
export interface Lineage {
  note(event: HostEvent): void;
  /** The session and those above it, nearest first; the last one is a person's own. */
  above(sessionID: string): string[];
  /** True for a session below another that was made while this process was there. A fork is below none, for the host. */
  isNew(sessionID: string): boolean;
}

/** Sessions below others that are remembered: a hundred times what one conversation has. */
const MOST = 10_000;

/** Knows of tasks from the store, forked ones included, and of other sessions what the host tells from now on. */
export const createLineage = (store: Store): Lineage => {
  const known = new Map<string, { parentID: string; isNew: boolean }>();

  const parentOf = (sessionID: string): string | undefined =>
    store.get(sessionID)?.task.parentSessionID ?? known.get(sessionID)?.parentID;

  const isNew = (sessionID: string): boolean => known.get(sessionID)?.isNew ?? false;

  return {
    note: (event) => {
      if (event.type === "deleted") known.delete(event.sessionID);
      if (event.type !== "child") return;
      const { sessionID, parentID } = event;
      const child = { parentID, isNew: event.isNew || isNew(sessionID) };
      known.delete(sessionID);
      known.set(sessionID, child);
      const [oldest] = known.keys();
      if (known.size > MOST && oldest !== undefined) known.delete(oldest);
    },
    above: (sessionID) => {
      const chain = [sessionID];
      for (let parent = parentOf(sessionID); parent && !chain.includes(parent); parent = parentOf(parent)) {
        chain.push(parent);
      }
      return chain;
    },
    isNew,
  };
};
