import { statePath } from "../../../machines/chart.ts";
import { leftLaunch } from "../../../machines/launch/machine.ts";
import { isPaused, isStopping } from "../../../machines/task/machine.ts";
import { isInFleet } from "../../../machines/task/slot.ts";
import { hasEnded, type Task } from "../../../task.ts";
import { repeat, sleep } from "../../platform/clock.ts";
import { errorMessage, logFault } from "../../platform/log.ts";
import { HEARTBEAT_MS } from "../../store/ownership.ts";
import type { AbandonedWork, TaskRecord } from "../../store/store.ts";
import { takeoverToast } from "../../text/reminder-text.ts";
import type { EngineContext } from "../context.ts";
import type { Reminders } from "../delivery/session-notes.ts";
import { cancelChildren, untilEnded } from "../operations/cancel.ts";
import { ABORT_WAITER, CLEAR_WAITER, FLEET_WAITER, isKnownAfterAbort } from "../operations/wait.ts";

/** Milliseconds from the start to the first adoption: not at once, for the host waits for its plugins while it starts. */
const FIRST_ADOPTION_MS = 50;

/**
 * How often, with a heartbeat between, a host that does not answer is asked about a tool call. After that the result counts
 * as not delivered, and may be delivered twice.
 */
const MAX_TRIES = 10;

/** The waiters that are no tool calls. */
const NO_CALLS = [ABORT_WAITER, CLEAR_WAITER, FLEET_WAITER];

/** True for a tool call that waits; whatever ends a task counts among its waiters too. */
const isCall = (waiter: string): boolean => !NO_CALLS.includes(waiter);

/**
 * Starts the heartbeat, which shows other processes that this one lives, and takes over the tasks of processes that do not live
 * any more. In `opencode run`, which ends with its agent's first answer, only those of sessions that work in this process.
 * @param onHeartbeat called after each heartbeat
 */
export const startAdoption = (ctx: EngineContext, { remind }: Pick<Reminders, "remind">, onHeartbeat: () => void) => {
  const { store, runtime, host, clock, log, progress, receipts, noticeRepair, sessionTree, worktrees } = ctx;
  const { opening, sessionDirectories } = ctx;
  const { isHeadless, recovery } = ctx.options;
  /** Sessions that have worked in this process; kept where only their tasks are adopted. */
  const sessionsHere = new Set<string>();

  /** Registers the worktree that a task goes on in, or left changes in. */
  const prepareWorktree = (task: Task) => {
    if (!task.worktree) return;
    if (!hasEnded(task)) sessionDirectories.enter(task.sessionID, task.worktree.directory);
    if (worktrees.changesOf(task) === undefined) worktrees.expect(task);
  };

  const takeOver = ({ tasks, prompts, launches }: AbandonedWork) => {
    const at = clock.now();
    const runsInPrompts = new Set(
      prompts.flatMap((of) => of.prompts.flatMap(({ runs }) => runs.map(({ taskId, run }) => `${taskId}/${run}`))),
    );
    const restored = tasks.filter((record) => {
      progress.begin(record.task.sessionID, at, record.task.progress);
      const { run, isReceiptIncomplete } = record.snapshot.context;
      if (isReceiptIncomplete || !hasEnded(record.task)) void receipts.takeOver(record.task.sessionID, run.messageID);
      prepareWorktree(record.task);
      return runtime.restore(record);
    });
    for (const { parentSessionID, prompts: adopted } of prompts) {
      for (const prompt of adopted) noticeRepair.expect(parentSessionID, prompt);
      runtime.dispatch({ type: "ADOPT_PROMPTS", at, parentSessionID, prompts: adopted });
    }
    // Before any prompt is sent again: an agent that finds its waiting call interrupted would launch the same once more.
    const interrupted = restored.filter(
      ({ task, snapshot: { context } }) => !hasEnded(task) && context.waiters.some(isCall),
    );
    for (const sessionID of new Set(interrupted.map(({ task }) => task.parentSessionID)))
      remind(sessionID, "interrupted");
    // Those at work come first: what they asked in the dead process is open no more, so that results of their batch wait for them.
    for (const { task } of restored.toSorted((a, b) => Number(hasEnded(a.task)) - Number(hasEnded(b.task)))) {
      const isNoticePending = runsInPrompts.has(`${task.sessionID}/${task.resumeCount}`);
      runtime.send(task.sessionID, { type: "ADOPTED", at, recovery, isNoticePending });
    }
    const parents = new Set([
      ...tasks.map(({ task }) => task.parentSessionID),
      ...prompts.map((of) => of.parentSessionID),
    ]);
    // A parent that is a task itself, and failed or was cancelled, reads no result: its tasks are cancelled with it.
    const endedParentTasks = [...parents].filter((parent) => {
      const task = store.get(parent)?.task;
      return task !== undefined && hasEnded(task) && task.status !== "completed";
    });
    for (const pending of launches) {
      // It is taken over only when no session can appear for it any more.
      const left = leftLaunch({ pending, isFinal: true, tries: 0, dueAt: at });
      runtime.dispatch({ type: "PREPARE", launch: left });
    }
    inBackground([
      ...endedParentTasks.map((taskId) => cancelChildren(ctx, taskId)),
      ...tasks.map(resolveWaits),
      ...[...parents].map(checkParent),
    ]);
  };

  const inBackground = (works: Promise<void>[]) => {
    for (const work of works) work.catch(logFault(log, "could not finish taking over tasks of a dead process"));
  };

  /** Resolves the waits of tool calls that are gone. One whose output is in the conversation has delivered the result. */
  const resolveWaits = async (record: TaskRecord): Promise<void> => {
    const { task, snapshot } = record;
    // Another server is given the result, whatever process of this one has it.
    for (const call of snapshot.context.waiters.filter((waiter) => waiter !== FLEET_WAITER)) {
      const onFault = logFault(log, "could not find out whether a tool call delivered a result", { call });
      const isDelivered = await wasDelivered(record, call).catch(onFault);
      const type = isDelivered ? "WAIT_DELIVERED" : "WAIT_ABANDONED";
      runtime.send(task.sessionID, { type, at: clock.now(), call });
    }
  };

  const wasDelivered = async ({ task, snapshot }: TaskRecord, call: string): Promise<boolean> => {
    if (call !== ABORT_WAITER) return isStored(task.parentSessionID, call);
    // A parent whose turn was aborted knows of the end of a task that is stopped. It does not know of one that goes on, or ended otherwise.
    if (!hasEnded(task) && !isStopping(snapshot)) return false;
    await untilEnded(ctx, [task.sessionID]);
    const ended = store.get(task.sessionID)?.task;
    return ended !== undefined && isKnownAfterAbort(ended);
  };

  /** True when the output of a tool call is in the conversation. A host that is not available is asked again. */
  const isStored = async (sessionID: string, call: string): Promise<boolean> => {
    for (let tries = 1; ; tries += 1) {
      const stage = await host.toolCall(sessionID, call);
      if (stage.ok) return stage.value === "stored";
      if (stage.failure.kind !== "unavailable" || tries === MAX_TRIES) return false;
      await sleep(clock, HEARTBEAT_MS);
    }
  };

  /** Checks whether the parent was deleted while no process of ours was there; its outbox deals with that. */
  const checkParent = async (parentSessionID: string): Promise<void> => {
    const parent = await host.session(parentSessionID);
    if (!parent.ok && parent.failure.kind === "notFound") {
      const event = { type: "PARENT_NOT_FOUND", at: clock.now(), message: parent.failure.message } as const;
      runtime.dispatch({ type: "OUTBOX", id: parentSessionID, event });
    }
    if (parent.ok && parent.value.parentID) await sessionTree.loadAncestors(parentSessionID);
  };

  /**
   * Shows a person who has OpenCode open which runs were interrupted and go on here; not those that had not begun. The panel
   * shows what goes on when OpenCode is opened.
   */
  const announce = async ({ tasks }: AbandonedWork): Promise<void> => {
    const interrupted = tasks.filter(
      ({ task, snapshot }) =>
        !hasEnded(task) &&
        snapshot.value.run !== "queued" &&
        !isPaused(snapshot) &&
        statePath(snapshot.value.run) !== "active.prompting.gatingBefore" &&
        !isInFleet(snapshot),
    );
    if (interrupted.length === 0 || isHeadless) return;
    const lostRequests = interrupted.flatMap(({ snapshot }) => snapshot.context.userRequests.map(({ what }) => what));
    await ctx.toast({ message: takeoverToast(interrupted.length, lostRequests), variant: "info" });
  };

  let hasAdopted = false;
  const adopt = () => {
    if (!opening.isProcessStaying()) return;
    const isFirst = !hasAdopted;
    hasAdopted = true;
    const adopted = new Set<string>();
    const isWanted = (parentSessionID: string) =>
      !isHeadless || sessionsHere.has(parentSessionID) || adopted.has(parentSessionID);
    for (;;) {
      const abandoned = store.adopt(clock.now(), isWanted);
      takeOver(abandoned);
      if (!isFirst) inBackground([announce(abandoned)]);
      // The next round takes over what these tasks have launched.
      for (const { task } of abandoned.tasks) adopted.add(task.sessionID);
      if (!isHeadless || abandoned.tasks.length === 0) return;
    }
  };

  const heartbeat = () => {
    runtime.heartbeat();
    adopt();
    onHeartbeat();
  };

  /** Schedules one adoption for after this call. */
  const adoptSoon = () => {
    callOff();
    callOff = clock.after(0, () => {
      try {
        // A task that this process has lost may come back to it now: its old copy must be gone before that.
        runtime.heartbeat();
        adopt();
      } catch (error) {
        log.error("tasks could not be adopted", { reason: errorMessage(error) });
      }
    });
  };

  let callOff: () => void = () => undefined;
  if (!opening.isProcessStaying()) opening.whenProcessStays(adoptSoon);
  const stopHeartbeat = repeat(clock, log, {
    first: FIRST_ADOPTION_MS,
    every: HEARTBEAT_MS,
    work: heartbeat,
    fault: "the heartbeat failed",
  });

  return {
    /** Records that a session is active here. */
    onSessionBusy: (sessionID: string) => {
      if (!isHeadless || sessionsHere.has(sessionID)) return;
      sessionsHere.add(sessionID);
      adoptSoon();
    },
    stop: () => {
      stopHeartbeat();
      callOff();
    },
  };
};

export type Adoption = ReturnType<typeof startAdoption>;
