import { isAtGate } from "../../../machines/task/machine.ts";
import { isInFleet } from "../../../machines/task/slot.ts";
import { isDeleted } from "../../host/sessions.ts";
import { type RepeatOptions, repeat } from "../../platform/clock.ts";
import { logFault } from "../../platform/log.ts";
import { HEARTBEAT_MS } from "../../store/ownership.ts";
import type { Retention } from "../../store/store.ts";
import { staleNote, staleToast } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import type { SessionNotes } from "../delivery/session-notes.ts";
import { providerWaits } from "../limits/provider-waits.ts";
import type { RunLimits } from "../limits/run-limits.ts";
import { getTask } from "../operations/read-task.ts";

/** Interval (ms) of the idle poll: long, for it only makes up for events that never came. */
const IDLE_POLL_INTERVAL_MS = 5_000;

/** Longest interval (ms) at which the time of runs is checked. */
const RUN_TIME_INTERVAL_MS = 5_000;

/** Interval (ms) at which progress is stored: it changes often, and nothing depends on it. */
const PROGRESS_STORE_INTERVAL_MS = 1_000;

/** Interval (ms) at which commands of other processes are looked for: a person waits for their outcome. */
const COMMANDS_POLL_INTERVAL_MS = 1_000;

/** Interval (ms) at which outdated tasks are removed. */
const SWEEP_INTERVAL_MS = 3_600_000;

/** Pause (ms) between two portions of outdated tasks, in which other processes can write, and the host can work. */
const SWEEP_PAUSE_MS = 100;

/**
 * Starts everything that recurs, but for the heartbeat, which belongs to adoption. A portion of work that throws is logged
 * and tried again at its next turn. Returns how to stop it all.
 */
export const startHousekeeping = (
  ctx: EngineContext,
  { notes, runLimits, runCommands }: { notes: SessionNotes; runLimits: RunLimits; runCommands(): void },
): (() => void) => {
  const { runtime, host, store, progress, clock, log, descendantWork, worktrees, directory, options } = ctx;
  const { run: runLimit } = options.timeouts;

  /** Tasks whose agent is believed to work, and is not only waiting for tasks of its own. */
  const workingTasks = (): string[] =>
    runtime.activeTasks().flatMap((snapshot) => {
      const { sessionID } = snapshot.context.facts;
      const isPolled = snapshot.hasTag("awaitingTasks") ? !runtime.awaitsTasks(sessionID) : snapshot.hasTag("working");
      return isPolled ? sessionID : [];
    });

  /** Makes up for missed events: one call for all working tasks, and each that is idle gets the event that it missed. */
  const pollIdleSessions = async (): Promise<void> => {
    if (workingTasks().length === 0) return;
    const busy = await host.busy();
    if (!busy.ok) return log.info("the host did not say which sessions are busy", { reason: busy.failure.message });
    descendantWork.onBusyRead(busy.value);
    for (const sessionID of workingTasks()) {
      if (!busy.value.has(sessionID) && !descendantWork.isUnderWay(sessionID))
        runtime.send(sessionID, { type: "HOST_IDLE", at: clock.now() });
    }
  };

  /** A run that takes too long is noticed within a quarter of its time, and within `RUN_TIME_INTERVAL_MS`. */
  const runTime: RepeatOptions[] =
    runLimit === undefined
      ? []
      : [
          {
            every: Math.min(RUN_TIME_INTERVAL_MS, runLimit / 4),
            work: runLimits.endOverdueRuns,
            fault: "the time of runs could not be checked",
          },
        ];

  /** Returns which ended tasks are kept. Many launches must not remove changes that nobody has decided about. */
  const retention = (): Retention =>
    options.retention.count === undefined
      ? options.retention
      : { ...options.retention, uncounted: worktrees.undecidedTasks(directory) };

  const taskOf = (taskId: string) => store.get(taskId)?.task;

  const recurring: RepeatOptions[] = [
    ...runTime,
    { every: IDLE_POLL_INTERVAL_MS, work: pollIdleSessions, fault: "the idle poll failed" },
    stalenessCheck(ctx, notes),
    providerWaits(ctx, runLimits),
    {
      every: PROGRESS_STORE_INTERVAL_MS,
      work: () => {
        const changed = progress.takeChanged();
        if (changed.size > 0) store.storeProgress(changed);
      },
      fault: "progress could not be stored",
    },
    {
      every: COMMANDS_POLL_INTERVAL_MS,
      work: runCommands,
      fault: "the commands of other processes could not be read",
    },
    {
      first: HEARTBEAT_MS,
      every: SWEEP_INTERVAL_MS,
      work: () => {
        if (store.sweep(retention(), clock.now()) > 0) return SWEEP_PAUSE_MS;
        void worktrees.sweep(directory, taskOf);
        return SWEEP_INTERVAL_MS;
      },
      fault: "outdated tasks could not be removed",
    },
  ];
  const stops = recurring.map((work) => repeat(clock, log, work));
  return () => {
    for (const stop of stops) stop();
  };
};

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
 *
 * The session of a task that is silent for a quarter of that time is looked for: its deletion may have gone unheard.
 */
const stalenessCheck = (ctx: EngineContext, notes: SessionNotes) => {
  const { runtime, host, bus, clock, log, progress, options } = ctx;
  const { stale: staleAfter } = options.timeouts;
  /** Staleness is noticed to within a quarter of `staleAfter`. Times are epoch milliseconds. */
  const every = staleAfter / 4;
  let checkedAt = clock.now();
  let awakeSince = 0;

  /** Tasks whose session the host did not find when it was last looked for. */
  const missing = new Set<string>();

  /**
   * A session that was deleted while its agent asked somebody stays busy for the host, and shows no sign of its end. What is not
   * found twice in a row is deleted.
   */
  const endIfDeleted = async (taskId: string): Promise<void> => {
    const wasMissing = missing.delete(taskId);
    const deleted = await isDeleted(host, taskId);
    if (!deleted.ok || !deleted.value) return;
    if (wasMissing) bus.emit("missedHostEvent", { type: "deleted", sessionID: taskId });
    else missing.add(taskId);
  };

  const check = (): void => {
    const at = clock.now();
    if (at - checkedAt > 2 * every) awakeSince = at;
    checkedAt = at;
    for (const snapshot of runtime.activeTasks()) {
      if (snapshot.matches({ run: { fleet: "claimed" } })) continue;
      const { context, value } = snapshot;
      const { sessionID } = context.facts;
      const { retry, queuedUntil = 0 } = context;
      const isWaiting = value.run === "queued" || isAtGate(snapshot) || isInFleet({ value });
      const waitedUntil = isWaiting ? at : Math.max(queuedUntil, retry?.until ?? 0);
      const heardAt = Math.max(progress.heardAt(sessionID) ?? at, waitedUntil, awakeSince);
      const silentFor = runtime.awaitsTasks(sessionID) ? 0 : at - heardAt;
      const isSilent = silentFor >= staleAfter;
      if (silentFor >= every && snapshot.hasTag("working"))
        endIfDeleted(sessionID).catch(logFault(log, "the session of a silent task could not be read", { sessionID }));
      if (!isSilent && value.attention === "stale") runtime.send(sessionID, { type: "ACTIVITY_SEEN", at });
      if (!isSilent || value.attention !== "none") continue;
      runtime.send(sessionID, { type: "BECAME_STALE", at });
      const onFault = logFault(log, "nobody could be notified that a task is stale", { sessionID });
      notify(ctx, notes, sessionID, at).catch(onFault);
    }
  };

  return { every, work: check, fault: "staleness could not be checked" };
};
