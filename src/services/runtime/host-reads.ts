import type { HostSession } from "../../machines/host-events.ts";
import type { Host, HostResult } from "../host/host.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import { shareCalls } from "../platform/concurrency.ts";
import type { Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";

/** Milliseconds for which a read is tried again while the host cannot answer: a slow host then delays launches, and refuses none. */
const PATIENCE_MS = 60_000;

/** Milliseconds before the second try. The pause doubles each time. */
const FIRST_PAUSE_MS = 1_000;

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
 * Creates what launches and notices read of the host, with as few calls as possible: each costs 3 to 6 ms of its main thread
 * (measured). A host that does not answer is asked again for a minute; a failure is that of all who wait for the read, and is
 * not remembered.
 * @param sessionOf returns a session as the host's events last described it, if one has
 * @param isAlone returns whether no other process is alive whose events this one does not get
 */
export const createHostReads = (
  host: Pick<Host, "agents" | "models" | "session">,
  clock: Clock,
  log: Log,
  sessionOf: (sessionID: string) => HostSession | undefined,
  isAlone: Store["isAlone"],
) => {
  /** Makes a call until the host answers it, if only to refuse it; for `PATIENCE_MS` at most. */
  const readPatiently = async <T>(what: string, call: () => Promise<HostResult<T>>): Promise<HostResult<T>> => {
    const until = clock.now() + PATIENCE_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
      const read = await call();
      if (read.ok || read.failure.kind !== "unavailable" || clock.now() + pause >= until) return read;
      log.error("the host could not be read, and is asked again", { what, reason: read.failure.message });
      await sleep(clock, pause);
    }
  };

  const readSession = shareCalls((sessionID) => readPatiently(sessionID, () => host.session(sessionID)));
  return {
    /** The agents, read once: OpenCode itself reads its configuration once, and starts its plugins anew when that changes. */
    agents: readOnce(() => readPatiently("agents", () => host.agents())),
    /** The models, read once, and not before somebody names one: the list of some providers has hundreds. */
    models: readOnce(() => readPatiently("models", () => host.models())),
    /**
     * A session as it is now: as the host's events last described it, as long as no other process could have changed it; else
     * as the host says. Those who ask while it is being read share one call.
     */
    session: async (sessionID: string): Promise<HostResult<HostSession>> => {
      const observed = sessionOf(sessionID);
      return observed && isAlone() ? { ok: true, value: observed } : readSession(sessionID);
    },
  };
};

export type HostReads = ReturnType<typeof createHostReads>;
