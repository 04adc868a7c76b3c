// ADR-037 in docs/decisions.md
import type { ModelMessage } from "../host/host.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { OwnText } from "../text/own-text.ts";
import { isTaskReminder } from "../text/reminders.ts";
import type { SessionNotes } from "./session-notes.ts";

/** Reminds agents of tasks that their conversations no longer mention. */
export interface Reminders {
  /**
   * Posts a reminder to a session whose conversation was compacted, or in which a blocking call was interrupted. The
   * reminder starts no turn.
   */
  remind(sessionID: string): void;
  /**
   * Adds a reminder that is not stored yet to a request to the model. It is stored only when the session is idle, but an
   * agent that keeps working needs it now.
   */
  show(messages: ModelMessage[]): void;
}

/** Dependencies of the reminders. */
export interface RemindersDeps {
  notes: SessionNotes;
  log: Log;
  /** Writes what an agent has to know about its tasks; undefined if it has none. */
  reminderFor(sessionID: string): OwnText | undefined;
  /** True if the session launched a task before that time, in epoch milliseconds. */
  launchedBefore(sessionID: string, time: number): boolean;
}

type ModelPart = ModelMessage["parts"][number];

/** Creates the reminders of tasks. */
export const createReminders = ({ notes, log, reminderFor, launchedBefore }: RemindersDeps): Reminders => {
  /** The current reminder of each session that has one to be stored. A newer reminder replaces an older one. */
  const pending = new Map<string, symbol>();

  const remind = (sessionID: string) => {
    const cause = Symbol(sessionID);
    pending.set(sessionID, cause);
    const isPending = () => pending.get(sessionID) === cause;
    // Written when it is stored: by then, tasks may have ended and their results may have been delivered.
    const reminder = () => {
      const text = isPending() ? reminderFor(sessionID) : undefined;
      return text === undefined ? undefined : ({ text, synthetic: true } as const);
    };
    notes
      .postWhenIdle(sessionID, reminder)
      .catch((error) => log.error("could not remind an agent of its tasks", { sessionID, reason: errorMessage(error) }))
      .finally(() => isPending() && pending.delete(sessionID));
  };

  /** True after a compaction without a reminder: the process that saw the compaction exited before it could store one. */
  const isReminderMissing = (messages: ModelMessage[]): boolean => {
    const summary = messages.findLast(({ info }) => info.summary === true);
    if (!summary || messages.some(({ parts }) => parts.some(({ text }) => isTaskReminder(text)))) return false;
    return launchedBefore(summary.info.sessionID, summary.info.time.created);
  };

  return {
    remind,
    show: (messages) => {
      const newest = messages.findLast(({ info }) => info.role === "user");
      if (!newest) return;
      const { id, sessionID } = newest.info;
      if (!pending.has(sessionID) && isReminderMissing(messages)) remind(sessionID);
      const text = pending.has(sessionID) ? reminderFor(sessionID) : undefined;
      if (text === undefined) return;
      const part = { id: `${id}_tasks`, sessionID, messageID: id, type: "text", text, synthetic: true };
      newest.parts.push(part as ModelPart);
    },
  };
};
