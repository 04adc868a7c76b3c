import type { Asides } from "./asides.ts";
import type { ModelMessage } from "./completing.ts";
import { type Log, reasonOf } from "./log.ts";

/** Reminds agents of their tasks when their conversations are summed up. */
export interface Reminding {
  /** A conversation was summed up: its agent is reminded, by a message that starts no turn. */
  compacted(sessionID: string): void;
  /** Shows the reminder to an agent that works on at once: until the session rests, the message is not stored. */
  show(messages: ModelMessage[]): void;
}

/** `contextOf` says what an agent has to know of its tasks; undefined where it has none. */
export const createReminding = (
  contextOf: (sessionID: string) => string | undefined,
  { leave }: Asides,
  log: Log,
): Reminding => {
  /** Sessions whose reminder is not stored yet; of two compactions in one turn the newer one's is left. */
  const pending = new Map<string, symbol>();

  return {
    compacted: (sessionID) => {
      const compaction = Symbol(sessionID);
      pending.set(sessionID, compaction);
      const isPending = () => pending.get(sessionID) === compaction;
      // Worded when it is stored: tasks may have ended by then, and been told.
      const reminder = () => {
        const text = isPending() ? contextOf(sessionID) : undefined;
        return text === undefined ? undefined : ({ text, synthetic: true } as const);
      };
      leave(sessionID, reminder)
        .catch((error) => log.error("an agent could not be reminded", { sessionID, reason: reasonOf(error) }))
        .finally(() => isPending() && pending.delete(sessionID));
    },
    show: (messages) => {
      const newest = messages.findLast(({ info }) => info.role === "user");
      if (!newest || !pending.has(newest.info.sessionID)) return;
      const { id, sessionID } = newest.info;
      const text = contextOf(sessionID);
      if (text === undefined) return;
      newest.parts.push({
        id: `${id}_tasks`,
        sessionID,
        messageID: id,
        type: "text",
        text,
        synthetic: true,
      } as ModelPart);
    },
  };
};

type ModelPart = ModelMessage["parts"][number];
