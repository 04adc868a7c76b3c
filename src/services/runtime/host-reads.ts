// ADR-125 in docs/decisions.md
import type { HostSession } from "../../machines/host-events.ts";
import type { Host, HostAgent, HostModel, HostResult } from "../host/host.ts";
import type { Store } from "../store/store.ts";

/** What launches and notices read of the host, with as few calls as possible: each costs 3 to 6 ms of its main thread (measured). */
export interface HostReads {
  /** The agents, read once: OpenCode itself reads its configuration once, and starts its plugins anew when that changes. */
  agents(): Promise<HostResult<HostAgent[]>>;
  /** The models, read once, and not before somebody names one: the list of some providers has hundreds. */
  models(): Promise<HostResult<HostModel[]>>;
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

/** Wraps a call so that it is made until it once succeeds; those who ask while it is under way share it. */
const readOnce = <T>(call: () => Promise<HostResult<T>>): (() => Promise<HostResult<T>>) => {
  const share = shareCalls(call);
  let known: HostResult<T> | undefined;
  return async () => {
    if (known) return known;
    const read = await share("");
    if (read.ok) known = read;
    return read;
  };
};

/**
 * Creates the reads of an engine.
 * @param sessionOf returns a session as the host's events last described it, if one has
 * @param isAlone returns whether no other process is alive whose events this one does not get
 */
export const createHostReads = (
  host: Pick<Host, "agents" | "models" | "session">,
  sessionOf: (sessionID: string) => HostSession | undefined,
  isAlone: Store["isAlone"],
): HostReads => {
  const readSession = shareCalls((sessionID) => host.session(sessionID));
  return {
    agents: readOnce(() => host.agents()),
    models: readOnce(() => host.models()),
    session: async (sessionID) => {
      const observed = sessionOf(sessionID);
      return observed && isAlone() ? { ok: true, value: observed } : readSession(sessionID);
    },
  };
};
