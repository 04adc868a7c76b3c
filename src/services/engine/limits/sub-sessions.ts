import type { ObservedSessions } from "../../runtime/observed-sessions.ts";
import type { ProgressLog } from "../../runtime/progress.ts";
import type { Store } from "../../store/store.ts";

/**
 * Creates a function that returns the task for which a session counts: the one in whose session, or below it, the host's own
 * tools began it. Undefined for the session of a task, which counts for itself, and for one that has no task above it.
 */
export const createTaskAbove = (
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
