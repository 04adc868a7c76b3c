import type { HostEvent, HostSession } from "../../machines/host-events.ts";
import { remember } from "../platform/remember.ts";

/** Sessions as the host's own events last described them. The host sends one for each change of a session. */
export interface ObservedSessions {
  onHostEvent(event: HostEvent): void;
  /** Undefined for a session of which no event has come. */
  sessionOf(sessionID: string): HostSession | undefined;
}

/** Number of sessions that are remembered, those that changed last: about 1 MB. */
const MAX_REMEMBERED = 1_000;

/** Creates an empty record of observed sessions. */
export const createObservedSessions = (): ObservedSessions => {
  const sessions = new Map<string, HostSession>();
  return {
    onHostEvent: (event) => {
      if (event.type === "deleted") sessions.delete(event.sessionID);
      if (event.type !== "session") return;
      remember(sessions, event.sessionID, event.session, MAX_REMEMBERED);
    },
    sessionOf: (sessionID) => sessions.get(sessionID),
  };
};
