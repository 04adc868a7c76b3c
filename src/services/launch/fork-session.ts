import type { Prompt } from "../../machines/task/events.ts";
import type { Host, HostResult, NewSession } from "../host/host.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { conversationText } from "../text/transcript.ts";
import { type ForkLimits, planFork, preambleOf, textPreamble } from "./fork-plan.ts";

/** A way to a session for a task. */
export interface SessionSource {
  isFork: boolean;
  /** The one call that makes the session. */
  make(wanted: NewSession): Promise<HostResult<{ id: string }>>;
  /**
   * What the session needs before its task's first prompt; it is tried again for as long as `isWanted` says so.
   * @throws Error when it cannot be given that; nobody can work with the session then.
   */
  prepare(sessionID: string, wanted: NewSession, isWanted: () => boolean): Promise<void>;
}

/** Ways to sessions that begin with the conversation of another one, up to a message, which is left out. */
export interface ForkSources {
  /** The host copies the conversation; what is too long is cut in the copy. */
  copy(parentSessionID: string, messageID: string): SessionSource;
  /** A new session that has the conversation as text. Fails when the host does not give the conversation. */
  text(parentSessionID: string, messageID: string): Promise<HostResult<SessionSource>>;
}

/** Calls that change a forked session are made so many at a time: the host does one after the other anyway. */
const AT_ONCE = 8;

/** Milliseconds to each further try to store a preamble. */
const PAUSES = [500, 1_000, 2_000, 4_000, 8_000];

const orThrow = <T>(result: HostResult<T>): T => {
  if (result.ok) return result.value;
  throw new Error(`${result.failure.name}: ${result.failure.message}`);
};

const inTurns = async <T>(items: T[], change: (item: T) => Promise<HostResult<void>>): Promise<void> => {
  for (let first = 0; first < items.length; first += AT_ONCE) {
    for (const result of await Promise.all(items.slice(first, first + AT_ONCE).map(change))) orThrow(result);
  }
};

export const createForkSources = (host: Host, ids: Ids, clock: Clock, limits: ForkLimits): ForkSources => {
  /** True when the message is there with all of its parts. */
  const isStored = async ({ sessionID, messageID, parts }: Omit<Prompt, "noReply">): Promise<boolean> => {
    const stored = await host.message(sessionID, messageID);
    return stored.ok && parts.every(({ id }) => stored.value.partIDs.includes(id));
  };

  /** Stores what the child reads before its first prompt: sent with the same ids until it is there. */
  const storePreamble = async (
    sessionID: string,
    text: string,
    { agent, model }: NewSession,
    isWanted: () => boolean,
  ): Promise<void> => {
    const parts = ids.parts(1).map((id) => ({ id, text, synthetic: true }));
    const message = { sessionID, messageID: ids.message(), parts, agent, model };
    for (const pause of [0, ...PAUSES]) {
      if (pause > 0) await sleep(clock, pause);
      if (!isWanted()) throw new Error("it is not wanted any more");
      const sent = await host.storeMessage(message);
      if (!sent.ok && sent.failure.kind !== "unavailable") orThrow(sent);
      if (await isStored(message)) return;
    }
    throw new Error(`its preamble could not be stored, after ${PAUSES.length + 1} tries`);
  };

  return {
    copy: (parentSessionID, messageID) => ({
      isFork: true,
      make: () => host.fork(parentSessionID, messageID),
      prepare: async (id, wanted, isWanted) => {
        const { title, permission, metadata } = wanted;
        // The mark comes first, in a call of its own: without it nobody can be sure whose copy this is, and OpenCode stores
        // title and metadata one after the other. A copy with our title and no mark was seen after a kill in between.
        orThrow(await host.updateSession(id, { metadata }));
        orThrow(await host.updateSession(id, { title, permission }));
        const plan = planFork(orThrow(await host.forkedMessages(id)), limits);
        await inTurns(plan.cuts, ({ messageID: of, part }) => host.rewritePart(id, of, part));
        await inTurns(plan.drops, (drop) => host.deleteMessage(id, drop));
        await storePreamble(id, preambleOf(plan), wanted, isWanted);
      },
    }),
    text: async (parentSessionID, messageID) => {
      const spoken = await host.conversation(parentSessionID);
      if (!spoken.ok) return spoken;
      const end = spoken.value.findIndex(({ id }) => id === messageID);
      const before = end < 0 ? spoken.value : spoken.value.slice(0, end);
      const { text, isWhole } = conversationText(before, limits.maxTokens);
      const source: SessionSource = {
        isFork: false,
        make: (wanted) => host.createSession(wanted),
        prepare: (id, wanted, isWanted) => storePreamble(id, textPreamble(text, isWhole), wanted, isWanted),
      };
      return { ok: true, value: source };
    },
  };
};
