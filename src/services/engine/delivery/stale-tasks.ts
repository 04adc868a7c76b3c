import { isInFleet } from "../../../machines/task/slot.ts";
import { hasEnded, type Task } from "../../../task.ts";
import type { RepeatOptions } from "../../platform/clock.ts";
import { errorMessage } from "../../platform/log.ts";
import { staleNote, staleToast } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import type { SessionNotes } from "./session-notes.ts";

/**
 * Returns the check that marks running tasks as stale after `timeouts.stale` milliseconds without any sign of life, and takes
 * the mark away when they show one.
 *
 * A task is not stale while it waits for tasks of its own, which show the signs; while it waits for a slot or its gate runs;
 * while it waits for another server, which reports what it does itself; or until the time at which the host asks a provider
 * again that refused. Where the check comes late, the machine has slept, and nothing could be heard: then the silence is
 * counted from now on.
 */
export const stalenessCheck = ({ runtime, clock, progress, options }: EngineContext): RepeatOptions => {
  const staleAfter = options.timeouts.stale;

  /** Staleness is noticed to within a quarter of `staleAfter`. Times are epoch milliseconds. */
  const staleness = { every: staleAfter / 4, checkedAt: clock.now(), awakeSince: 0 };

  const checkStaleness = (): void => {
    const now = clock.now();
    if (now - staleness.checkedAt > 2 * staleness.every) staleness.awakeSince = now;
    staleness.checkedAt = now;
    for (const snapshot of runtime.activeTasks()) {
      if (snapshot.matches({ run: { fleet: "claimed" } })) continue;
      const { context, value } = snapshot;
      const { sessionID } = context.facts;
      const at = clock.now();
      const { retry, queuedUntil = 0 } = context;
      const isWaiting = value.run === "queued" || value.run === "gating" || isInFleet({ value });
      const waitedUntil = isWaiting ? at : Math.max(queuedUntil, retry?.until ?? 0);
      const heardAt = Math.max(progress.heardAt(sessionID) ?? at, waitedUntil, staleness.awakeSince);
      const isSilent = !runtime.awaitsTasks(sessionID) && at - heardAt >= staleAfter;
      if (isSilent && value.attention === "none") runtime.send(sessionID, { type: "BECAME_STALE", at });
      if (!isSilent && value.attention === "stale") runtime.send(sessionID, { type: "ACTIVITY_SEEN", at });
    }
  };

  return { every: staleness.every, work: checkStaleness, fault: "staleness could not be checked" };
};

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
