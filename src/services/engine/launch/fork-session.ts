import type { Prompt } from "../../../machines/task/events.ts";
import type { HostResult, NewSession } from "../../host/host.ts";
import { sleep } from "../../platform/clock.ts";
import { conversationText } from "../../text/transcript.ts";
import type { EngineContext } from "../context.ts";
import { forkPreamble, planFork, textPreamble } from "./fork-plan.ts";

/** A way to create a session for a task. */
export interface SessionSource {
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
export const copiedConversation = (ctx: EngineContext, parentSessionID: string, messageID: string): SessionSource => ({
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
export const conversationAsText = async (
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
