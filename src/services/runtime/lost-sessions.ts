/**
 * Creates the register of sessions of tasks that another process works on now. What they still do in this one is stopped, and
 * held up until then.
 * @param abort aborts a session, as often as it takes
 * @param ancestors returns a session and those above it
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
    /** Resolves when a session that is being stopped, or one that is below it, has stopped; undefined for any other. */
    untilStopped: (sessionID: string): Promise<void> | undefined => {
      if (stopping.size === 0) return undefined;
      const lost = ancestors(sessionID).find((id) => stopping.has(id));
      return lost === undefined ? undefined : stopping.get(lost);
    },
  };
};
