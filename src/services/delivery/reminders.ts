import type { ModelMessage } from "../host/messages.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { OwnText } from "../text/own-text.ts";
import { isTaskReminder } from "../text/task-reminder.ts";
import type { SessionNotes } from "./session-notes.ts";

/** Reminds agents of tasks that their conversations do not show them any more. */
export interface Reminders {
  /**
   * A conversation was summed up, or a call that waited in it was cut off: its agent is reminded, by a message that
   * starts no turn.
   */
  remind(sessionID: string): void;
  /** Shows the reminder to an agent that works on at once: until the session rests, the message is not stored. */
  show(messages: ModelMessage[]): void;
}

/** What reminding is given with. */
export interface RemindersDeps {
  notes: SessionNotes;
  log: Log;
  /** What an agent has to know of its tasks; undefined where it has none. */
  reminderFor(sessionID: string): OwnText | undefined;
  /** True where the session launched a task before that time, in epoch milliseconds. */
  launchedBefore(sessionID: string, time: number): boolean;
}

type ModelPart = ModelMessage["parts"][number];

export const createReminders = ({ notes, log, reminderFor, launchedBefore }: RemindersDeps): Reminders => {
  /** Sessions whose reminder is not stored yet; of two in one turn the newer one is left. */
  const pending = new Map<string, symbol>();

  const remind = (sessionID: string) => {
    const cause = Symbol(sessionID);
    pending.set(sessionID, cause);
    const isPending = () => pending.get(sessionID) === cause;
    // Worded when it is stored: tasks may have ended by then, and been told.
    const reminder = () => {
      const text = isPending() ? reminderFor(sessionID) : undefined;
      return text === undefined ? undefined : ({ text, synthetic: true } as const);
    };
    notes
      .postWhenIdle(sessionID, reminder)
      .catch((error) => log.error("an agent could not be reminded", { sessionID, reason: errorMessage(error) }))
      .finally(() => isPending() && pending.delete(sessionID));
  };

  /** Summed up, and no reminder in sight: the process that saw it ended before it could store one. */
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
