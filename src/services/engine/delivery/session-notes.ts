import { backoff } from "../../../machines/chart.ts";
import { LOOK_BACKOFF } from "../../../machines/outbox/setup.ts";
import type { Prompt } from "../../../machines/task/events.ts";
import type { ModelMessage } from "../../host/host.ts";
import { isDeleted, whySetAside } from "../../host/sessions.ts";
import { logFault } from "../../platform/log.ts";
import type { OwnText } from "../../text/own-text.ts";
import { isTaskReminder, taskReminder } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import { listTasks } from "../operations/read-task.ts";

/**
 * A message for a conversation: `synthetic` for its model only, `ignored` for people only. It starts no turn, but for one
 * that has the model say something to the person (`wakes`), where nothing else would be seen.
 */
export type SessionNote = { text: OwnText; synthetic: true; wakes?: true } | { text: OwnText; ignored: true };

/** Milliseconds until the next attempt if the session does not become idle before, or the host fails. */
const RETRY_MS = 5_000;

/**
 * Creates the posting of notes to conversations, which start no turn as a rule. A busy session would start a turn to answer a
 * note (measured: four times in five), so each note is stored only when its session is idle and no prompt of the plugin is on
 * its way there.
 */
export const createSessionNotes = ({ host, sessionWaits, ids, log, runtime }: EngineContext) => {
  let stopped = false;

  /** True while a prompt of the plugin is on its way to the session. */
  const isPrompted = (sessionID: string) => runtime.pendingPrompt(sessionID) !== undefined;

  return {
    /**
     * Posts a note as soon as the session is idle. Resolves to true once it is stored, or to false when it is no longer
     * wanted, the session is deleted, the host refuses the note, or this process stops.
     * @param write returns the note when the time has come; undefined when it is no longer wanted
     */
    postWhenIdle: async (sessionID: string, write: () => SessionNote | undefined): Promise<boolean> => {
      let message: Pick<Prompt, "messageID" | "parts"> | undefined;
      let wasMissing = false;
      let looks = 0;
      while (!stopped && write() !== undefined) {
        const [busy, session] = await Promise.all([host.busy(), host.session(sessionID)]);
        const isMissing = !session.ok && session.failure.kind === "notFound";
        if (isMissing && wasMissing) {
          const deleted = await isDeleted(host, sessionID);
          if (deleted.ok && deleted.value) return false;
        }
        wasMissing = isMissing;
        const setAside = session.ok ? await whySetAside(host, session.value) : undefined;
        const mayBeSent = setAside?.ok === true && setAside.value === undefined;
        looks = setAside?.ok && setAside.value !== undefined ? looks + 1 : 0;
        const note = write();
        if (stopped || note === undefined) return false;
        if (busy.ok && session.ok && mayBeSent && !busy.value.has(sessionID) && !isPrompted(sessionID)) {
          const { wakes, ...part } = { wakes: false, ...note };
          message ??= { messageID: ids.message(), parts: ids.parts(1).map((id) => ({ id, ...part })) };
          const { agent, model } = session.value;
          const stored = await host.prompt({
            sessionID,
            ...message,
            agent,
            model,
            ...(wakes ? {} : { noReply: true }),
          });
          if (stored.ok) return true;
          log.error("could not post a note to a session", { sessionID, reason: stored.failure.message });
          if (stored.failure.kind === "refused" || stopped) return false;
        }
        if (looks === 0) await sessionWaits.until(sessionID, "idle", RETRY_MS);
        else await sessionWaits.until(sessionID, "change", backoff(looks, LOOK_BACKOFF));
      }
      return false;
    },
    /** Gives up all notes that are not stored yet. */
    stop: () => {
      stopped = true;
    },
  };
};

export type SessionNotes = ReturnType<typeof createSessionNotes>;

type ModelPart = ModelMessage["parts"][number];

/** Returns what an agent has to know about its tasks, or a summary of its conversation must say; undefined if it has none. */
export const reminderFor = (
  ctx: EngineContext,
  sessionID: string,
  maxEnded = ctx.options.reminder.ended,
): OwnText | undefined =>
  taskReminder(listTasks(ctx, { parentSessionID: sessionID }), ctx.options.notice.tools, {
    maxEnded,
    isHeadless: ctx.options.isHeadless,
  });

/** Ended tasks that are named to an agent whose blocking call was cut off: it would launch its task again, ended or not. */
const ENDED_AFTER_INTERRUPTION = 20;

/** Creates the reminders of tasks that an agent's conversation no longer mentions. */
export const createReminders = (ctx: EngineContext, notes: SessionNotes) => {
  const { store, log } = ctx;
  /** The current reminder of each session that has one to be stored. A newer reminder replaces an older one. */
  const pending = new Map<string, { maxEnded: number }>();

  const remind = (sessionID: string, why: "compacted" | "interrupted") => {
    const { ended } = ctx.options.reminder;
    const named = why === "interrupted" ? ENDED_AFTER_INTERRUPTION : ended;
    const cause = { maxEnded: Math.max(named, ended, pending.get(sessionID)?.maxEnded ?? 0) };
    pending.set(sessionID, cause);
    const isPending = () => pending.get(sessionID) === cause;
    // Written when it is stored: by then, tasks may have ended and their results may have been delivered.
    const reminder = () => {
      const text = isPending() ? reminderFor(ctx, sessionID, cause.maxEnded) : undefined;
      return text === undefined ? undefined : ({ text, synthetic: true } as const);
    };
    notes
      .postWhenIdle(sessionID, reminder)
      .catch(logFault(log, "could not remind an agent of its tasks", { sessionID }))
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
      if (!pending.has(sessionID) && isReminderMissing(messages)) remind(sessionID, "compacted");
      const due = pending.get(sessionID);
      const text = due && reminderFor(ctx, sessionID, due.maxEnded);
      if (text === undefined) return;
      const part = { id: `${id}_tasks`, sessionID, messageID: id, type: "text", text, synthetic: true };
      newest.parts.push(part as ModelPart);
    },
  };
};

export type Reminders = ReturnType<typeof createReminders>;
