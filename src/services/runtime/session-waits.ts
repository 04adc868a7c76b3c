// What waits for a session: for an event of it, or until it has stopped.
import type { HostEvent } from "../../machines/host-events.ts";
import type { Clock } from "../platform/clock.ts";

/** What of a session is waited for: that it becomes idle, or that anything of it changes, an idle one included. */
type Awaited = "idle" | "change";

/** Creates what lets work that concerns a session wait for events of it, instead of asking the host again and again. */
export const createSessionWaits = (clock: Clock) => {
  const waitsBySession = new Map<string, Set<{ what: Awaited; end(): void }>>();

  const endWaits = (sessionID: string, hasHappened: (what: Awaited) => boolean) => {
    for (const { what, end } of [...(waitsBySession.get(sessionID) ?? [])]) if (hasHappened(what)) end();
  };

  return {
    /** Resolves at the next such event of the session, but after `ms` milliseconds at the latest, or when this process stops. */
    until: (sessionID: string, what: Awaited, ms: number): Promise<void> =>
      new Promise<void>((resolve) => {
        const waits = waitsBySession.get(sessionID) ?? new Set();
        waitsBySession.set(sessionID, waits);
        const end = () => {
          cancelTimeout();
          waits.delete(wait);
          if (waits.size === 0) waitsBySession.delete(sessionID);
          resolve();
        };
        const wait = { what, end };
        waits.add(wait);
        const cancelTimeout = clock.after(ms, end);
      }),
    onHostEvent: ({ type, sessionID }: HostEvent) => {
      if (type === "idle") endWaits(sessionID, () => true);
      if (type === "session") endWaits(sessionID, (what) => what === "change");
    },
    stop: () => {
      for (const sessionID of [...waitsBySession.keys()]) endWaits(sessionID, () => true);
    },
  };
};

export type SessionWaits = ReturnType<typeof createSessionWaits>;

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
      const lost = ancestors(sessionID).find((id) => stopping.has(id));
      return lost === undefined ? undefined : stopping.get(lost);
    },
  };
};
