// ADR-042, ADR-043, ADR-117 in docs/decisions.md
import type { MessageInfo } from "../../machines/host-events.ts";
import type { Prompt } from "../../machines/task/events.ts";
import type { Host, HostResult, ListedSession, NewSession } from "../host/host.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { conversationText } from "../text/transcript.ts";
import { type ForkLimits, forkPreamble, planFork, textPreamble } from "./fork-plan.ts";

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

/** Ways to create a session that begins with the conversation of another one, up to but not including a message. */
export interface ForkSources {
  /** The host copies the conversation, and the copy is then cut to the limits. */
  copy(parentSessionID: string, messageID: string): SessionSource;
  /** A new session gets the conversation as text. Fails when the host does not return the conversation. */
  text(parentSessionID: string, messageID: string): Promise<HostResult<SessionSource>>;
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

/** Creates the ways to fork a session, with the limits on what a fork inherits. */
export const createForkSources = (host: Host, ids: Ids, clock: Clock, limits: ForkLimits): ForkSources => {
  /** True when the host has stored the message with all of its parts. */
  const isStored = async ({ sessionID, messageID, parts }: Omit<Prompt, "noReply">): Promise<boolean> => {
    const stored = await host.message(sessionID, messageID);
    return stored.ok && parts.every(({ id }) => stored.value.partIDs.includes(id));
  };

  /** Stores the message that the child reads before its first prompt, retrying with the same ids until it is stored. */
  const storePreamble = async (
    sessionID: string,
    text: string,
    { agent, model }: NewSession,
    isWanted: () => boolean,
  ): Promise<void> => {
    const parts = ids.parts(1).map((id) => ({ id, text, synthetic: true }));
    const message = { sessionID, messageID: ids.message(), parts, agent, model };
    for (const pause of PREAMBLE_PAUSES_MS) {
      if (pause > 0) await sleep(clock, pause);
      if (!isWanted()) throw new Error("it is no longer wanted");
      const sent = await host.storeMessage(message);
      if (!sent.ok && sent.failure.kind !== "unavailable") orThrow(sent);
      if (await isStored(message)) return;
    }
    throw new Error(`its preamble could not be stored in ${PREAMBLE_PAUSES_MS.length} attempts`);
  };

  return {
    copy: (parentSessionID, messageID) => ({
      isFork: true,
      create: () => host.fork(parentSessionID, messageID),
      prepare: async (id, session, isWanted) => {
        const { title, permission, metadata } = session;
        // The metadata comes first, in a call of its own: until it is set, nobody can be sure which launch this copy
        // belongs to, and OpenCode stores title and metadata one after the other (a kill in between was seen).
        orThrow(await host.updateSession(id, { metadata }));
        orThrow(await host.updateSession(id, { title, permission }));
        // A copy stays where the conversation was, whatever directory is named.
        if (session.directory !== undefined) orThrow(await host.moveSession(id, session.directory));
        const plan = planFork(orThrow(await host.forkedMessages(id)), limits);
        await changeAll(plan.cuts, (cut) => host.rewritePart(id, cut.messageID, cut.part));
        await changeAll(plan.drops, (dropped) => host.deleteMessage(id, dropped));
        await storePreamble(id, forkPreamble(plan), session, isWanted);
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
        create: (session) => host.createSession(session),
        prepare: (id, session, isWanted) => storePreamble(id, textPreamble(text, isWhole), session, isWanted),
      };
      return { ok: true, value: source };
    },
  };
};

/** Number of newest messages that are compared between a copy and the conversation that was to be copied. */
export const COMPARED_MESSAGES = 4;

/** How the title of every fork ends. */
const COPY_TITLE = / \(fork #\d+\)$/;

/** True for a listed session that may be the copy requested by a launch at that time. */
export const mayBeFork = ({ parentID, title, createdAt }: ListedSession, launchedAt: number): boolean =>
  parentID === undefined && createdAt >= launchedAt && COPY_TITLE.test(title);

const isBeingWritten = ({ role, isSummary, createdAt, completedAt }: MessageInfo, at: number): boolean =>
  role === "assistant" && !isSummary && createdAt < at && (completedAt === undefined || completedAt >= at);

/** Returns the messages before the assistant message that called the launching tool. */
const messagesToCopy = (parent: MessageInfo[], launchedAt: number): MessageInfo[] => {
  const launching = parent.findLastIndex((message) => isBeingWritten(message, launchedAt));
  return parent.slice(0, Math.max(0, launching));
};

/**
 * True when the newest messages of a copy prove that a launch requested it and that nobody has used it since.
 *
 * A launch copies everything before the assistant message that calls the tool and is still being written. People copy
 * whole conversations, including that message, or everything before one of their own messages: that is what all
 * interfaces of OpenCode offer (terminal, web, desktop, ACP, `run --fork`), and a copy made later contains whatever came
 * before it. So no copy made by a person ends where a launch's copy ends. A copy that is incomplete or has grown proves
 * nothing.
 *
 * `parent` and `copy` are the newest messages of the two sessions, oldest first. Copied messages keep their times.
 */
export const isForkOfLaunch = (copy: MessageInfo[], parent: MessageInfo[], launchedAt: number): boolean => {
  const expected = messagesToCopy(parent, launchedAt).slice(-COMPARED_MESSAGES);
  const newest = copy.slice(-COMPARED_MESSAGES);
  return (
    expected.length > 0 &&
    expected.length === newest.length &&
    expected.every(({ role, createdAt }, at) => newest[at]?.role === role && newest[at]?.createdAt === createdAt)
  );
};
