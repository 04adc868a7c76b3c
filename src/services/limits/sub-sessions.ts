// ADR-190 in docs/decisions.md
import type { HostSession } from "../../machines/host-events.ts";

/** What sub-sessions are recognized by. */
export interface SubSessionDeps {
  /** A session as the host's events last described it. */
  sessionOf(sessionID: string): Pick<HostSession, "parentID"> | undefined;
  /** True for the session of a task, ended ones included. */
  isTask(sessionID: string): boolean;
  /** True for a task whose use is counted. */
  isCounted(sessionID: string): boolean;
}

/**
 * Creates a function that returns the task for which a session counts: the one in whose session, or below it, the host's own
 * tools began it. Undefined for the session of a task, which counts for itself, and for one that has no task above it.
 */
export const createTaskAbove =
  ({ sessionOf, isTask, isCounted }: SubSessionDeps) =>
  (sessionID: string): string | undefined => {
    for (let id = sessionID; !isCounted(id); ) {
      const parentID = sessionOf(id)?.parentID;
      if (parentID === undefined || isTask(id)) return undefined;
      if (isCounted(parentID)) return parentID;
      id = parentID;
    }
    return undefined;
  };
