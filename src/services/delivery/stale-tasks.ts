import { hasEnded, type Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ToolNames } from "../text/notice.ts";
import { staleNote, staleToast } from "../text/reminders.ts";
import type { SessionNotes } from "./session-notes.ts";

/** What is needed to notify of stale tasks. */
export interface StaleTasksDeps {
  runtime: Runtime;
  host: Host;
  notes: SessionNotes;
  clock: Clock;
  log: Log;
  tools: ToolNames;
  /** Milliseconds of silence after which a task is stale. */
  staleAfter: number;
}

/**
 * Notifies once for each silence of a task that has become stale: the person by a toast, and the parent's agent by a session note,
 * which it reads at its next turn. A note whose task has shown life before the note could be stored is dropped.
 * Returns how to stop that.
 */
export const notifyOfStaleTasks = (deps: StaleTasksDeps): (() => void) => {
  const { runtime, host, notes, clock, log, tools, staleAfter } = deps;
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
