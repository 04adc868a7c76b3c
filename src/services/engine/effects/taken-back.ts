import { backoff } from "../../../machines/backoff.ts";
import { LOOK_BACKOFF } from "../../../machines/outbox/setup.ts";
import type { HostReads } from "../../runtime/host-reads.ts";
import type { ObservedSessions } from "../../runtime/known-sessions.ts";
import type { SessionWaits } from "../../runtime/session-waits.ts";
import type { Store } from "../../store/store.ts";

/** What shows whether something in a session is taken back, and that no other process is alive whose events this one misses. */
interface Sources {
  reads: Pick<HostReads, "session">;
  observedSessions: Pick<ObservedSessions, "sessionOf">;
  store: Pick<Store, "isAlone">;
  sessionWaits: Pick<SessionWaits, "until">;
}

const wait = async ({ reads, sessionWaits }: Sources, sessionID: string, isWanted: () => boolean): Promise<void> => {
  for (let looks = 1; isWanted(); looks += 1) {
    const session = await reads.session(sessionID);
    if (!session.ok || !session.value.isReverted) return;
    await sessionWaits.until(sessionID, "change", backoff(looks, LOOK_BACKOFF));
  }
};

/**
 * Resolves once nothing that a person took back is left in a session: a prompt would delete it for good. Also resolves when
 * `isWanted` no longer holds, or when the host cannot read the session. Returns undefined where nothing stands in
 * the way.
 */
export const untilNothingIsTakenBack = (
  sources: Sources,
  sessionID: string,
  isWanted: () => boolean,
): Promise<void> | undefined => {
  const { observedSessions, store } = sources;
  const observed = store.isAlone() ? observedSessions.sessionOf(sessionID) : undefined;
  return observed && !observed.isReverted ? undefined : wait(sources, sessionID, isWanted);
};
