import { hasEnded, type Task } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import { staleNote, staleToast } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import type { SessionNotes } from "./session-notes.ts";

/**
 * Notifies once for each silence of a task that has become stale: the person by a toast, and the parent's agent by a session note,
 * which it reads at its next turn. A note whose task has shown life before the note could be stored is dropped.
 * Returns how to stop that.
 */
export const notifyOfStaleTasks = (ctx: EngineContext, notes: SessionNotes): (() => void) => {
  const { runtime, host, clock, log } = ctx;
  const { tools } = ctx.options.notice;
  const staleAfter = ctx.options.timeouts.stale;
  /** Since when each stale task is stale, as the person and the agent were notified. */
  const notified = new Map<string, string>();

  const notify = async (task: Task, since: string): Promise<void> => {
    const { sessionID, parentSessionID } = task;
    const shown = await host.toast({ message: staleToast(task, staleAfter), variant: "info" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
    const note = () =>
      notified.get(sessionID) === since
        ? ({ text: staleNote(task, clock.now() - Date.parse(since) + staleAfter, tools), synthetic: true } as const)
        : undefined;
    await notes.postWhenIdle(parentSessionID, note);
  };

  return runtime.subscribe((task) => {
    const { sessionID, attention } = task;
    if (attention?.kind !== "stale" || hasEnded(task)) return void notified.delete(sessionID);
    if (notified.has(sessionID)) return;
    notified.set(sessionID, attention.since);
    notify(task, attention.since).catch((error) =>
      log.error("nobody could be notified that a task is stale", { sessionID, reason: errorMessage(error) }),
    );
  });
};
