// ADR-267 in docs/decisions.md
import { backoff } from "../../machines/backoff.ts";
import { LOOK_BACKOFF } from "../../machines/outbox/setup.ts";
import type { HostReads } from "./host-reads.ts";
import type { ObservedSessions } from "./observed-sessions.ts";
import type { SessionWaits } from "./session-waits.ts";

/** What waiting for a session needs. */
export interface TakenBackDeps {
  reads: Pick<HostReads, "session">;
  sessionOf: ObservedSessions["sessionOf"];
  /** Whether no other process is alive whose events this one does not get. */
  isAlone(): boolean;
  waits: SessionWaits;
}

/**
 * Creates a function that resolves once nothing that a person took back is left in a session: a prompt would delete it for
 * good. It also resolves when `isWanted` no longer holds, or when the host does not say how the session stands. Returns
 * undefined where nothing stands in the way.
 */
export const createUntilNothingIsTakenBack = ({ reads, sessionOf, isAlone, waits }: TakenBackDeps) => {
  const wait = async (sessionID: string, isWanted: () => boolean): Promise<void> => {
    for (let looks = 1; isWanted(); looks += 1) {
      const session = await reads.session(sessionID);
      if (!session.ok || !session.value.isReverted) return;
      await waits.until(sessionID, "change", backoff(looks, LOOK_BACKOFF));
    }
  };
  return (sessionID: string, isWanted: () => boolean): Promise<void> | undefined => {
    const observed = isAlone() ? sessionOf(sessionID) : undefined;
    return observed && !observed.isReverted ? undefined : wait(sessionID, isWanted);
  };
};
