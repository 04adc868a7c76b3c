// ADR-125 in docs/decisions.md
import type { HostSession } from "../../machines/host-events.ts";
import type { Host, HostAgent, HostResult } from "../host/host.ts";
import type { Store } from "../store/store.ts";

/** What launches and notices read of the host, with as few calls as possible: each costs 3 to 6 ms of its main thread (measured). */
export interface HostReads {
  /** The agents, read once: OpenCode itself reads its configuration once, and starts its plugins anew when that changes. */
  agents(): Promise<HostResult<HostAgent[]>>;
  /**
   * A session as it is now: as the host's events last described it, as long as no other process could have changed it; else
   * as the host says. Those who ask while it is being read share one call.
   */
  session(sessionID: string): Promise<HostResult<HostSession>>;
}

/** Wraps a call so that all who want its result while it is under way share one call, by their `key`. */
const shareCalls = <T>(call: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const underWay = new Map<string, Promise<T>>();
  return (key) => {
    const shared = underWay.get(key) ?? call(key).finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return shared;
  };
};

/**
 * Creates the reads of an engine.
 * @param sessionOf returns a session as the host's events last described it, if one has
 * @param isAlone returns whether no other process is alive whose events this one does not get
 */
export const createHostReads = (
  host: Pick<Host, "agents" | "session">,
  sessionOf: (sessionID: string) => HostSession | undefined,
  isAlone: Store["isAlone"],
): HostReads => {
  const readAgents = shareCalls(() => host.agents());
  const readSession = shareCalls((sessionID) => host.session(sessionID));
  let agents: HostResult<HostAgent[]> | undefined;
  return {
    agents: async () => {
      if (agents) return agents;
      const read = await readAgents("");
      if (read.ok) agents = read;
      return read;
    },
    session: async (sessionID) => {
      const observed = sessionOf(sessionID);
      return observed && isAlone() ? { ok: true, value: observed } : readSession(sessionID);
    },
  };
};
