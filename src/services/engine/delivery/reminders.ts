import type { ModelMessage } from "../../host/host.ts";
import { errorMessage } from "../../platform/log.ts";
import type { OwnText } from "../../text/own-text.ts";
import { isTaskReminder, taskReminder } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import { listTasks } from "../operations/read-task.ts";
import type { SessionNotes } from "./session-notes.ts";

type ModelPart = ModelMessage["parts"][number];

/** Returns what an agent has to know about its tasks, or a summary of its conversation must say; undefined if it has none. */
export const reminderFor = (ctx: EngineContext, sessionID: string): OwnText | undefined =>
  taskReminder(listTasks(ctx, { parentSessionID: sessionID }), ctx.options.notice.tools, ctx.options.isHeadless);

/** Creates the reminders of tasks that an agent's conversation no longer mentions. */
export const createReminders = (ctx: EngineContext, notes: SessionNotes) => {
  const { store, log } = ctx;
  /** The current reminder of each session that has one to be stored. A newer reminder replaces an older one. */
  const pending = new Map<string, symbol>();

  const remind = (sessionID: string) => {
    const cause = Symbol(sessionID);
    pending.set(sessionID, cause);
    const isPending = () => pending.get(sessionID) === cause;
    // Written when it is stored: by then, tasks may have ended and their results may have been delivered.
    const reminder = () => {
      const text = isPending() ? reminderFor(ctx, sessionID) : undefined;
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
    const { sessionID: parentSessionID, time } = summary.info;
    return store.list({ parentSessionID }).some(({ launchedAt }) => launchedAt < time.created);
  };

  return {
    /**
     * Posts a reminder to a session whose conversation was compacted, or in which a blocking call was interrupted. The
     * reminder starts no turn.
     */
    remind,
    /**
     * Adds a reminder that is not stored yet to a request to the model. It is stored only when the session is idle, but an
     * agent that keeps working needs it now.
     */
    show: (messages: ModelMessage[]) => {
      const newest = messages.findLast(({ info }) => info.role === "user");
      if (!newest) return;
      const { id, sessionID } = newest.info;
      if (!pending.has(sessionID) && isReminderMissing(messages)) remind(sessionID);
      const text = pending.has(sessionID) ? reminderFor(ctx, sessionID) : undefined;
      if (text === undefined) return;
      const part = { id: `${id}_tasks`, sessionID, messageID: id, type: "text", text, synthetic: true };
      newest.parts.push(part as ModelPart);
    },
  };
};

export type Reminders = ReturnType<typeof createReminders>;
