import type { HostEvent } from "../../machines/supervisor/events.ts";
import type { Host } from "../host/host.ts";
import type { Store } from "../store/store.ts";

/** Which session stands below which. */
export interface SessionTree {
  onHostEvent(event: HostEvent): void;
  /** The session and those above it, nearest first; the last one is a person's own. */
  ancestors(sessionID: string): string[];
  /** Asks the host for what stands above the topmost session that is known, up to one below none. */
  loadAncestors(sessionID: string): Promise<void>;
  /** True for a session below another that was made while this process was there. A fork is below none, for the host. */
  wasCreatedHere(sessionID: string): boolean;
}

/** Sessions below others that are remembered: a hundred times what one conversation has. */
const MOST = 10_000;

/** Knows of tasks from the store, forked ones included, and of other sessions what the host tells from now on, or is asked. */
export const createSessionTree = (store: Store, host: Host): SessionTree => {
  const known = new Map<string, { parentID: string; isNew: boolean }>();

  const parentOf = (sessionID: string): string | undefined =>
    store.get(sessionID)?.task.parentSessionID ?? known.get(sessionID)?.parentID;

  const wasCreatedHere = (sessionID: string): boolean => known.get(sessionID)?.isNew ?? false;

  const remember = (sessionID: string, child: { parentID: string; isNew: boolean }) => {
    known.delete(sessionID);
    known.set(sessionID, child);
    const [oldest] = known.keys();
    if (known.size > MOST && oldest !== undefined) known.delete(oldest);
  };

  const ancestors = (sessionID: string): string[] => {
    const chain = [sessionID];
    for (let parent = parentOf(sessionID); parent && !chain.includes(parent); parent = parentOf(parent)) {
      chain.push(parent);
    }
    return chain;
  };

  return {
    onHostEvent: (event) => {
      if (event.type === "deleted") known.delete(event.sessionID);
      if (event.type !== "child") return;
      const { sessionID, parentID } = event;
      remember(sessionID, { parentID, isNew: event.isNew || wasCreatedHere(sessionID) });
    },
    ancestors,
    loadAncestors: async (sessionID) => {
      for (;;) {
        const chain = ancestors(sessionID);
        const top = chain.at(-1) ?? sessionID;
        const session = await host.session(top);
        const parentID = session.ok ? session.value.parentID : undefined;
        if (parentID === undefined || chain.includes(parentID)) return;
        remember(top, { parentID, isNew: wasCreatedHere(top) });
      }
    },
    wasCreatedHere,
  };
};
