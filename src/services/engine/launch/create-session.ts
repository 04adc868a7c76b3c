import type { Prompt } from "../../../machines/task/events.ts";
import type { HostFailure, HostResult, NewSession } from "../../host/host.ts";
import { sleep } from "../../platform/clock.ts";
import { errorMessage, logFault } from "../../platform/log.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import type { PendingLaunch } from "../../store/store.ts";
import { conversationText } from "../../text/transcript.ts";
import type { EngineContext } from "../context.ts";
import type { LaunchRequest } from "../requests.ts";
import { forkPreamble, planFork, textPreamble } from "./fork-plan.ts";
import { launchMetadata } from "./pending-launches.ts";

/** A session that was created for a task and is ready for its first prompt. */
export interface CreatedSession {
  id: string;
  /** The pending launch, to be removed from the store once the task exists. Its key is the id of the task's first prompt. */
  launch: PendingLaunch;
  /** Why the host could not fork the conversation, so that the session has it as text; undefined if nothing went wrong. */
  forkRefusal: string | undefined;
}

/** Milliseconds before each search for a session whose creation was not confirmed. After the last, the launch fails. */
const SEARCH_PAUSES_MS = [0, 1_000, 2_000, 4_000, 8_000];

/**
 * The outcome of one attempt. `reason` quotes the host, without a full stop; `isKnown` is false when the host may have
 * created the session all the same.
 */
type Attempt = { ok: true; session: CreatedSession } | { ok: false; reason: string; isKnown: boolean };

/** Treats an exception in a call as an unconfirmed call: it is unknown what the host did. */
const asUnconfirmed = (error: unknown): HostResult<never> => ({
  ok: false,
  failure: { kind: "unavailable", name: "Fault", message: errorMessage(error) },
});

const describeFailure = ({ name, message }: HostFailure): string => `${name}: ${message}`;

const failureMessage = (reason: string, isKnown: boolean): string =>
  isKnown
    ? `OpenCode created no session for the task: ${reason}. Try again.`
    : `OpenCode did not say whether it created a session for the task: ${reason}. None was found; one that appears later is deleted. Try again.`;

const emptySession = ({ host }: EngineContext): SessionSource => ({
  isFork: false,
  create: (session) => host.createSession(session),
  prepare: async () => undefined,
});

/** Searches for a session whose creation was not confirmed. */
const search = async (
  { clock, orphanedLaunches }: EngineContext,
  launch: PendingLaunch,
  isWanted: () => boolean,
): Promise<string | undefined> => {
  for (const pause of SEARCH_PAUSES_MS) {
    if (pause > 0) await sleep(clock, pause);
    if (!isWanted()) return undefined;
    const found = await orphanedLaunches.find(launch);
    if (found !== undefined) return found;
  }
  return undefined;
};

const attempt = async (
  ctx: EngineContext,
  source: SessionSource,
  parentSessionID: string,
  session: Omit<NewSession, "metadata">,
  isWanted: () => boolean,
): Promise<Attempt> => {
  const { store, clock, ids, log, orphanedLaunches } = ctx;
  const { forksUnderWay } = orphanedLaunches;
  const launch = { messageID: ids.message(), parentSessionID, at: clock.now(), fork: source.isFork };
  const newSession = { ...session, metadata: launchMetadata(parentSessionID, launch.messageID) };
  store.beginLaunch(launch);
  if (source.isFork) forksUnderWay.add(launch);
  const abandon = (sessionID?: string) => {
    forksUnderWay.delete(launch);
    return orphanedLaunches.abandon(launch, sessionID);
  };
  /** A search that throws has found nothing: the launch stays recorded, and its session is deleted when it is found. */
  const reportFault = logFault(log, "a fault while a launch's session was searched for", launch);
  const prepare = async (id: string): Promise<Attempt> => {
    try {
      await source.prepare(id, newSession, isWanted);
      forksUnderWay.delete(launch);
      return { ok: true, session: { id, launch, forkRefusal: undefined } };
    } catch (error) {
      await abandon(id);
      return { ok: false, reason: errorMessage(error), isKnown: true };
    }
  };
  const created = await source.create(newSession).catch(asUnconfirmed);
  if (created.ok) return prepare(created.value.id);
  const reason = describeFailure(created.failure);
  if (created.failure.kind !== "unavailable") {
    forksUnderWay.delete(launch);
    store.endLaunch(launch.messageID);
    return { ok: false, reason, isKnown: true };
  }
  log.error("OpenCode did not say whether it created a session for a launch", { ...launch, reason });
  // An unconfirmed fork cannot be used: it has no metadata, and the host may still be copying it.
  const found = source.isFork ? undefined : await search(ctx, launch, isWanted).catch(reportFault);
  if (found !== undefined) return prepare(found);
  await abandon();
  return { ok: false, reason, isKnown: false };
};

const create = async (
  ctx: EngineContext,
  { fork, parentSessionID, parentMessageID }: LaunchRequest,
  session: Omit<NewSession, "metadata">,
  isWanted: () => boolean,
): Promise<Outcome<CreatedSession>> => {
  const first = fork ? copiedConversation(ctx, parentSessionID, parentMessageID) : emptySession(ctx);
  const created = await attempt(ctx, first, parentSessionID, session, isWanted);
  if (created.ok) return { ok: true, value: created.session };
  const { reason, isKnown } = created;
  if (!fork || !isWanted()) return fail(failureMessage(reason, isKnown), "host");
  ctx.log.error("the host could not fork; the child gets the conversation as text", { parentSessionID, reason });
  const source = await conversationAsText(ctx, parentSessionID, parentMessageID);
  if (!source.ok) return fail(failureMessage(describeFailure(source.failure), true), "host");
  const asText = await attempt(ctx, source.value, parentSessionID, session, isWanted);
  return asText.ok
    ? { ok: true, value: { ...asText.session, forkRefusal: reason } }
    : fail(failureMessage(asText.reason, asText.isKnown), "host");
};

/**
 * Creates a session for a task, as long as `isWanted` returns true. One that is created but not returned is deleted, or its
 * launch stays recorded in the store until it can be deleted.
 */
export const createTaskSession = (
  ctx: EngineContext,
  request: LaunchRequest,
  session: Omit<NewSession, "metadata">,
  isWanted: () => boolean,
): Promise<Outcome<CreatedSession>> =>
  ctx.launches.inTurn(async () =>
    isWanted() ? create(ctx, request, session, isWanted) : fail("The launch is not wanted any more."),
  );

/** A way to create a session for a task. */
interface SessionSource {
  /** True when the host copies the session, so that it has no metadata at first. */
  isFork: boolean;
  /** Creates the session, in one call to the host. */
  create(session: NewSession): Promise<HostResult<{ id: string }>>;
  /**
   * Prepares the new session for its task's first prompt. Retries only while `isWanted` returns true.
   * @throws Error when the session cannot be prepared and must not be used.
   */
  prepare(sessionID: string, session: NewSession, isWanted: () => boolean): Promise<void>;
}

/** Number of concurrent calls that change a forked session. More gain nothing: the host executes them one by one. */
const CONCURRENT_CALLS = 8;

/** Milliseconds before each attempt to store a preamble. */
const PREAMBLE_PAUSES_MS = [0, 500, 1_000, 2_000, 4_000, 8_000];

const orThrow = <T>(result: HostResult<T>): T => {
  if (result.ok) return result.value;
  throw new Error(`${result.failure.name}: ${result.failure.message}`);
};

/** Applies a change to all items, a few at a time. @throws Error when the host did not make one of the changes. */
const changeAll = async <T>(items: T[], change: (item: T) => Promise<HostResult<void>>): Promise<void> => {
  for (let first = 0; first < items.length; first += CONCURRENT_CALLS) {
    for (const result of await Promise.all(items.slice(first, first + CONCURRENT_CALLS).map(change))) orThrow(result);
  }
};

/** True when the host has stored the message with all of its parts. */
const isStored = async (
  { host }: EngineContext,
  { sessionID, messageID, parts }: Omit<Prompt, "noReply">,
): Promise<boolean> => {
  const stored = await host.message(sessionID, messageID);
  return stored.ok && parts.every(({ id }) => stored.value.partIDs.includes(id));
};

/** Stores the message that the child reads before its first prompt, retrying with the same ids until it is stored. */
const storePreamble = async (
  ctx: EngineContext,
  sessionID: string,
  text: string,
  { agent, model }: NewSession,
  isWanted: () => boolean,
): Promise<void> => {
  const { host, ids, clock } = ctx;
  const parts = ids.parts(1).map((id) => ({ id, text, synthetic: true }));
  const message = { sessionID, messageID: ids.message(), parts, agent, model };
  for (const pause of PREAMBLE_PAUSES_MS) {
    if (pause > 0) await sleep(clock, pause);
    if (!isWanted()) throw new Error("it is no longer wanted");
    const sent = await host.storeMessage(message);
    if (!sent.ok && sent.failure.kind !== "unavailable") orThrow(sent);
    if (await isStored(ctx, message)) return;
  }
  throw new Error(`its preamble could not be stored in ${PREAMBLE_PAUSES_MS.length} attempts`);
};

/** The host copies the conversation up to but not including a message, and the copy is then cut to the limits. */
const copiedConversation = (ctx: EngineContext, parentSessionID: string, messageID: string): SessionSource => ({
  isFork: true,
  create: () => ctx.host.fork(parentSessionID, messageID),
  prepare: async (id, session, isWanted) => {
    const { host, options } = ctx;
    const { title, permission, metadata } = session;
    // The metadata comes first, in a call of its own: until it is set, nobody can be sure which launch this copy
    // belongs to, and OpenCode stores title and metadata one after the other (a kill in between was seen).
    orThrow(await host.updateSession(id, { metadata }));
    orThrow(await host.updateSession(id, { title, permission }));
    // A copy stays where the conversation was, whatever directory is named.
    if (session.directory !== undefined) orThrow(await host.moveSession(id, session.directory));
    const plan = planFork(orThrow(await host.forkedMessages(id)), options.fork);
    await changeAll(plan.cuts, (cut) => host.rewritePart(id, cut.messageID, cut.part));
    await changeAll(plan.drops, (dropped) => host.deleteMessage(id, dropped));
    await storePreamble(ctx, id, forkPreamble(plan), session, isWanted);
  },
});

/** A new session gets the conversation up to the message as text. Fails when the host does not return the conversation. */
const conversationAsText = async (
  ctx: EngineContext,
  parentSessionID: string,
  messageID: string,
): Promise<HostResult<SessionSource>> => {
  const { host, options } = ctx;
  const spoken = await host.conversation(parentSessionID);
  if (!spoken.ok) return spoken;
  const end = spoken.value.findIndex(({ id }) => id === messageID);
  const before = end < 0 ? spoken.value : spoken.value.slice(0, end);
  const { text, isWhole } = conversationText(before, options.fork.maxTokens);
  const source: SessionSource = {
    isFork: false,
    create: (session) => host.createSession(session),
    prepare: (id, session, isWanted) => storePreamble(ctx, id, textPreamble(text, isWhole), session, isWanted),
  };
  return { ok: true, value: source };
};
