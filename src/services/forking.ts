import { type ForkLimits, planFork, preambleOf, textPreamble } from "./fork.ts";
import type { Host, HostResult, NewSession } from "./host.ts";
import type { Ids } from "./ids.ts";
import type { Log } from "./log.ts";
import { conversationText } from "./transcript.ts";

/** A session made for a child that inherits its parent's conversation. */
export interface ForkedSession {
  id: string;
  /** Why the host did not fork, in words; the child then has the conversation as text. */
  refusal: string | undefined;
}

/** Calls that change a forked session are made so many at a time: the host does one after the other anyway. */
const AT_ONCE = 8;

const orThrow = <T>(result: HostResult<T>): T => {
  if (result.ok) return result.value;
  throw new Error(`${result.failure.name}: ${result.failure.message}`);
};

const inTurns = async <T>(items: T[], change: (item: T) => Promise<HostResult<void>>): Promise<void> => {
  for (let first = 0; first < items.length; first += AT_ONCE) {
    for (const result of await Promise.all(items.slice(first, first + AT_ONCE).map(change))) orThrow(result);
  }
};

/** Makes sessions that begin with the parent's conversation, cut down to the limits and with a preamble. */
export const createForking = (host: Host, ids: Ids, log: Log, limits: ForkLimits) => {
  /** Stored, and answered by nobody: the child reads it with its first prompt. */
  const note = async (sessionID: string, text: string, { agent, model }: NewSession): Promise<void> => {
    const parts = ids.parts(1).map((id) => ({ id, text, synthetic: true }));
    orThrow(await host.prompt({ sessionID, messageID: ids.message(), parts, agent, model, noReply: true }));
  };

  const forked = async (parentSessionID: string, messageID: string, wanted: NewSession): Promise<string> => {
    const { id } = orThrow(await host.fork(parentSessionID, messageID));
    try {
      const plan = planFork(orThrow(await host.inherited(id)), limits);
      await inTurns(plan.cuts, ({ messageID: of, part }) => host.rewrite(id, of, part));
      await inTurns(plan.drops, (drop) => host.deleteMessage(id, drop));
      const { title, permission, metadata } = wanted;
      orThrow(await host.configure(id, { title, permission, metadata }));
      await note(id, preambleOf(plan), wanted);
      return id;
    } catch (error) {
      await host.deleteSession(id);
      throw error;
    }
  };

  const asText = async (parentSessionID: string, messageID: string, wanted: NewSession): Promise<string> => {
    const spoken = orThrow(await host.conversation(parentSessionID));
    const end = spoken.findIndex(({ id }) => id === messageID);
    const { text, isWhole } = conversationText(end < 0 ? spoken : spoken.slice(0, end), limits.maxTokens);
    const { id } = orThrow(await host.createSession(wanted));
    try {
      await note(id, textPreamble(text, isWhole), wanted);
      return id;
    } catch (error) {
      await host.deleteSession(id);
      throw error;
    }
  };

  /**
   * A session with the parent's conversation up to the message.
   * @throws Error when it could be made in neither way.
   */
  return async (parentSessionID: string, messageID: string, wanted: NewSession): Promise<ForkedSession> => {
    try {
      return { id: await forked(parentSessionID, messageID, wanted), refusal: undefined };
    } catch (error) {
      const refusal = error instanceof Error ? error.message : String(error);
      log.error("the host could not fork; the child gets the conversation as text", { parentSessionID, refusal });
      return { id: await asText(parentSessionID, messageID, wanted), refusal };
    }
  };
};
