import type { Host, HostFailure, HostResult, NewSession } from "../host/host.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { PendingLaunch, Store } from "../store/store.ts";
import type { ForkSources, SessionSource } from "./fork-session.ts";
import type { LaunchRequest } from "./launch-plan.ts";
import { launchMetadata, type OrphanedLaunches } from "./orphaned-launches.ts";

/** A session that was made for a task, and is ready for its first prompt. */
export interface CreatedSession {
  id: string;
  /** To be ended in the store when the task is there; its key is the id of the task's first prompt. */
  launch: PendingLaunch;
  /** Why the host did not fork the conversation, if it should have: the session has it as text. */
  forkRefusal: string | undefined;
}

/** Makes sessions for tasks. */
export interface SessionFactory {
  /**
   * Makes a session, for as long as `isWanted` says so. What it does not hand over is removed, or stays on record to be
   * removed.
   */
  create(
    request: LaunchRequest,
    wanted: Omit<NewSession, "metadata">,
    isWanted: () => boolean,
  ): Promise<Outcome<CreatedSession>>;
}

/** What sessions are made with. */
export interface SessionFactoryDeps {
  host: Host;
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Log;
  forkSources: ForkSources;
  orphanedLaunches: OrphanedLaunches;
  /** Receives the launches whose fork is being made, for as long as it is. */
  forksUnderWay: Set<PendingLaunch>;
}

/** Milliseconds to each look for a session whose making had no answer. After the last one its task is not launched. */
const SEARCH_PAUSES_MS = [0, 1_000, 2_000, 4_000, 8_000];

/** What came of one attempt. `reason` is in the host's words, without a full stop. */
type Attempt = { ok: true; session: CreatedSession } | { ok: false; reason: string; isKnown: boolean };

/** A fault of our own in a call leaves open what the host did. */
const asUnknown = (error: unknown): HostResult<never> => ({
  ok: false,
  failure: { kind: "unavailable", name: "Fault", message: errorMessage(error) },
});

const describeFailure = ({ name, message }: HostFailure): string => `${name}: ${message}`;

const failureMessage = (reason: string, isKnown: boolean): string =>
  isKnown
    ? `OpenCode made no session for the task: ${reason}. Try again.`
    : `OpenCode did not say whether it made a session for the task: ${reason}. None was found, and one that comes late is removed. Try again.`;

export const createSessionFactory = (deps: SessionFactoryDeps): SessionFactory => {
  const { host, store, clock, ids, log, forkSources, orphanedLaunches, forksUnderWay } = deps;

  const plain: SessionSource = {
    isFork: false,
    make: (wanted) => host.createSession(wanted),
    prepare: async () => undefined,
  };

  const search = async (launch: PendingLaunch, isWanted: () => boolean): Promise<string | undefined> => {
    for (const pause of SEARCH_PAUSES_MS) {
      if (pause > 0) await sleep(clock, pause);
      if (!isWanted()) return undefined;
      const found = await orphanedLaunches.find(launch);
      if (found !== undefined) return found;
    }
    return undefined;
  };

  const attempt = async (
    source: SessionSource,
    parentSessionID: string,
    session: Omit<NewSession, "metadata">,
    isWanted: () => boolean,
  ): Promise<Attempt> => {
    const launch = { messageID: ids.message(), parentSessionID, at: clock.now(), fork: source.isFork };
    const wanted = { ...session, metadata: launchMetadata(parentSessionID, launch.messageID) };
    store.beginLaunch(launch);
    if (source.isFork) forksUnderWay.add(launch);
    const giveUp = (sessionID?: string) => {
      forksUnderWay.delete(launch);
      return orphanedLaunches.abandon(launch, sessionID);
    };
    const prepared = async (id: string): Promise<Attempt> => {
      try {
        await source.prepare(id, wanted, isWanted);
        forksUnderWay.delete(launch);
        return { ok: true, session: { id, launch, forkRefusal: undefined } };
      } catch (error) {
        await giveUp(id);
        return { ok: false, reason: errorMessage(error), isKnown: true };
      }
    };
    const made = await source.make(wanted).catch(asUnknown);
    if (made.ok) return prepared(made.value.id);
    const reason = describeFailure(made.failure);
    if (made.failure.kind !== "unavailable") {
      forksUnderWay.delete(launch);
      store.endLaunch(launch.messageID);
      return { ok: false, reason, isKnown: true };
    }
    log.error("whether a session was made is not known", { ...launch, reason });
    // A copy without an answer is not gone on with: it has no mark, and may not be whole yet.
    const found = source.isFork ? undefined : await search(launch, isWanted);
    if (found !== undefined) return prepared(found);
    await giveUp();
    return { ok: false, reason, isKnown: false };
  };

  return {
    create: async ({ fork, parentSessionID, parentMessageID }, wanted, isWanted) => {
      const first = fork ? forkSources.copy(parentSessionID, parentMessageID) : plain;
      const made = await attempt(first, parentSessionID, wanted, isWanted);
      if (made.ok) return { ok: true, value: made.session };
      const { reason, isKnown } = made;
      if (!fork || !isWanted()) return fail(failureMessage(reason, isKnown), "host");
      log.error("the host could not fork; the child gets the conversation as text", { parentSessionID, reason });
      const source = await forkSources.text(parentSessionID, parentMessageID);
      if (!source.ok) return fail(failureMessage(describeFailure(source.failure), true), "host");
      const asText = await attempt(source.value, parentSessionID, wanted, isWanted);
      return asText.ok
        ? { ok: true, value: { ...asText.session, forkRefusal: reason } }
        : fail(failureMessage(asText.reason, asText.isKnown), "host");
    },
  };
};
