import { isInFleet } from "../../../machines/task/slot.ts";
import { logFault } from "../../platform/log.ts";
import { staleNote, staleToast } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import { getTask } from "../operations/read-task.ts";
import type { SessionNotes } from "./session-notes.ts";

/**
 * Notifies of a task that has just become stale: the person by a toast, and the parent's agent by a session note, which it
 * reads at its next turn. The note is dropped when the task shows life before it could be stored.
 */
const notify = async (ctx: EngineContext, notes: SessionNotes, taskId: string, since: number): Promise<void> => {
  const { runtime, clock, options } = ctx;
  const { stale: staleAfter } = options.timeouts;
  const task = getTask(ctx, taskId);
  const isStillStale = () => runtime.snapshotOf(taskId)?.context.staleSince === since;
  if (!task || !isStillStale()) return;
  await ctx.toast({ message: staleToast(task, staleAfter), variant: "info" });
  await notes.postWhenIdle(task.parentSessionID, () =>
    isStillStale()
      ? { text: staleNote(task, clock.now() - since + staleAfter, options.notice.tools), synthetic: true }
      : undefined,
  );
};

/**
 * Returns the check that marks running tasks as stale after `timeouts.stale` milliseconds without any sign of life, and takes
 * the mark away when they show one. Notifies once for each silence.
 *
 * A task is not stale while it waits for tasks of its own, which show the signs; while it waits for a slot or its gate runs;
 * while it waits for another server, which reports what it does itself; or until the time at which the host asks a provider
 * again that refused. Where the check comes late, the machine has slept, and nothing could be heard: then the silence is
 * counted from now on.
 */
export const stalenessCheck = (ctx: EngineContext, notes: SessionNotes) => {
  const { runtime, clock, log, progress, options } = ctx;
  const { stale: staleAfter } = options.timeouts;
  /** Staleness is noticed to within a quarter of `staleAfter`. Times are epoch milliseconds. */
  const every = staleAfter / 4;
  let checkedAt = clock.now();
  let awakeSince = 0;

  const check = (): void => {
    const at = clock.now();
    if (at - checkedAt > 2 * every) awakeSince = at;
    checkedAt = at;
    for (const snapshot of runtime.activeTasks()) {
      if (snapshot.matches({ run: { fleet: "claimed" } })) continue;
      const { context, value } = snapshot;
      const { sessionID } = context.facts;
      const { retry, queuedUntil = 0 } = context;
      const isWaiting = value.run === "queued" || value.run === "gating" || isInFleet({ value });
      const waitedUntil = isWaiting ? at : Math.max(queuedUntil, retry?.until ?? 0);
      const heardAt = Math.max(progress.heardAt(sessionID) ?? at, waitedUntil, awakeSince);
      const isSilent = !runtime.awaitsTasks(sessionID) && at - heardAt >= staleAfter;
      if (!isSilent && value.attention === "stale") runtime.send(sessionID, { type: "ACTIVITY_SEEN", at });
      if (!isSilent || value.attention !== "none") continue;
      runtime.send(sessionID, { type: "BECAME_STALE", at });
      const onFault = logFault(log, "nobody could be notified that a task is stale", { sessionID });
      notify(ctx, notes, sessionID, at).catch(onFault);
    }
  };

  return { every, work: check, fault: "staleness could not be checked" };
};
