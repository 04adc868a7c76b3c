import type { HostEvent } from "../machines/supervisor-events.ts";
import type { Store } from "./store/store.ts";

/** Which session stands below which. */
export interface Lineage {
  note(event: HostEvent): void;
  /** The session and those above it, nearest first; the last one is a person's own. */
  above(sessionID: string): string[];
}

/** Sessions below others that are remembered: a hundred times what one conversation has. */
const MOST = 10_000;

/** Knows of tasks from the store, forked ones included, and of other sessions what the host tells from now on. */
export const createLineage = (store: Store): Lineage => {
  const parents = new Map<string, string>();

  const parentOf = (sessionID: string): string | undefined =>
    store.get(sessionID)?.task.parentSessionID ?? parents.get(sessionID);

  return {
    note: (event) => {
      if (event.type === "deleted") parents.delete(event.sessionID);
      if (event.type !== "child") return;
      parents.delete(event.sessionID);
      parents.set(event.sessionID, event.parentID);
      const [oldest] = parents.keys();
      if (parents.size > MOST && oldest !== undefined) parents.delete(oldest);
    },
    above: (sessionID) => {
      const chain = [sessionID];
      for (let parent = parentOf(sessionID); parent && !chain.includes(parent); parent = parentOf(parent)) {
        chain.push(parent);
      }
      return chain;
    },
  };
};
