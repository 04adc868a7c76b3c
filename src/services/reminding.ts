import type { Task } from "../task.ts";
import type { ModelMessage } from "./completing.ts";
import type { Leaving } from "./leaving.ts";
import { type Log, reasonOf } from "./log.ts";
import { taskContext } from "./task-context.ts";
import type { ToolNames } from "./tool-names.ts";

/** Reminds agents of their tasks when their conversations are summed up. */
export interface Reminding {
  /** For whoever sums up the conversation of a session; undefined where it has no tasks. */
  contextOf(sessionID: string): string | undefined;
  /** A conversation was summed up: its agent is reminded, by a message that starts no turn. */
  compacted(sessionID: string): void;
  /** Shows the reminder to an agent that works on at once: until the session rests, the message is not stored. */
  show(messages: ModelMessage[]): void;
}

/** `tasksOf` gives the tasks that a session launched, in the order of their launch. */
export const createReminding = (
  tasksOf: (sessionID: string) => Task[],
  tools: ToolNames,
  { leave }: Leaving,
  log: Log,
): Reminding => {
  /** By session: what is not stored yet. */
  const pending = new Map<string, { text: string }>();

  const contextOf = (sessionID: string) => taskContext(tasksOf(sessionID), tools);

  return {
    contextOf,
    compacted: (sessionID) => {
      const text = contextOf(sessionID);
      if (text === undefined) return;
      // Of two compactions in one turn only the newer one's is left.
      const reminder = { text };
      pending.set(sessionID, reminder);
      const isPending = () => pending.get(sessionID) === reminder;
      leave(sessionID, { text, synthetic: true }, isPending)
        .catch((error) => log.error("an agent could not be reminded", { sessionID, reason: reasonOf(error) }))
        .finally(() => isPending() && pending.delete(sessionID));
    },
    show: (messages) => {
      const newest = messages.findLast(({ info }) => info.role === "user");
      const reminder = newest && pending.get(newest.info.sessionID);
      if (!newest || !reminder) return;
      const { id, sessionID } = newest.info;
      const part = { ...reminder, id: `${id}_tasks`, sessionID, messageID: id, type: "text", synthetic: true };
      newest.parts.push(part);
    },
  };
};
