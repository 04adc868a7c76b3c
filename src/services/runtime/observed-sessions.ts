import type { HostEvent, HostSession } from "../../machines/host-events.ts";
import { remember } from "../platform/remember.ts";

/** Number of sessions that are remembered, those that changed last: about 1 MB. */
const MAX_REMEMBERED = 1_000;

/** Creates an empty record of sessions as the host's own events last described them. The host sends one for each change. */
export const createObservedSessions = () => {
  const sessions = new Map<string, HostSession>();
  return {
    onHostEvent: (event: HostEvent) => {
      if (event.type === "deleted") sessions.delete(event.sessionID);
      if (event.type !== "session") return;
      remember(sessions, event.sessionID, event.session, MAX_REMEMBERED);
    },
    /** Undefined for a session of which no event has come. */
    sessionOf: (sessionID: string): HostSession | undefined => sessions.get(sessionID),
  };
};

export type ObservedSessions = ReturnType<typeof createObservedSessions>;
