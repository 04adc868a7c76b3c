import type { HostEvent } from "../../../machines/host-events.ts";
import type { TaskSnapshot } from "../../../machines/task/machine.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import { hasEnded, noProgress, type Task, type TaskError } from "../../../task.ts";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage } from "../../platform/log.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { beyondBudget, tookTooLong, tooManyRepeats } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { cancelChildren } from "../operations/cancel.ts";
import { readLastWords } from "../operations/read-task.ts";
import { createBudgetTree } from "./budget-tree.ts";
import { createEndlessSteps, type ToolCallLog } from "./loops.ts";

/** Starts ending runs beyond a budget, runs in a loop, and turns that would never end. */
export const createRunLimits = (ctx: EngineContext) => {
  const { runtime, clock, bus, store, progress, toolCalls, ancestorTask, abort } = ctx;
  const { budget } = ctx.options;
  const { repeat } = ctx.options.loop;
  const endlessSteps = createEndlessSteps();
  const isLimited = [budget.toolCalls, budget.tokens, budget.cost].some((limit) => limit !== undefined);
  const ownUsage = (taskId: string) => progress.of(taskId) ?? store.get(taskId)?.task.progress ?? noProgress("");
  const sums = createBudgetTree({
    ownUsage,
    childTasks: (parentTaskId) => store.list({ parentTaskId }).map(({ sessionID }) => sessionID),
  });

  /** Ends the topmost ancestor if it is beyond its budget: it has used no less than its descendants, and all stop with it. */
  const endBeyondBudget = (taskId: string) => {
    const [topmost = taskId] = sums.lineage(taskId);
    const used = sums.of(topmost);
    const error = used && beyondBudget(used, budget);
    if (error) endRun(ctx, topmost, error);
  };

  const measure = (taskId: string, parentTaskId: string | undefined) => {
    if (!isLimited) return;
    sums.set(taskId, parentTaskId, ownUsage(taskId));
    endBeyondBudget(taskId);
  };

  const forget = (taskId: string) => {
    toolCalls.forget(taskId);
    sums.release(taskId);
  };

  const onTaskChanged = (task: Task) => {
    const { sessionID, parentTaskId } = task;
    if (!hasEnded(task)) return measure(sessionID, parentTaskId);
    forget(sessionID);
  };

  const onUsed = (taskId: string) => {
    const task = runtime.snapshotOf(taskId)?.context;
    if (task && task.completedAt === undefined) measure(taskId, task.facts.parentTaskId);
  };

  /** A task's run decides what its turn came to. That of a descendant session is ended here, and its caller goes on. */
  const endTurn = (sessionID: string) => {
    if (runtime.snapshotOf(sessionID)) runtime.send(sessionID, { type: "STEPS_WITHOUT_END", at: clock.now() });
    else if (ancestorTask(sessionID) !== undefined) void abort(sessionID);
  };

  const stops = [
    runtime.subscribe(onTaskChanged),
    bus.on("tasksLost", (lost) => {
      for (const { sessionID } of lost) forget(sessionID);
    }),
    bus.on("usedElsewhere", ({ taskId }) => onUsed(taskId)),
  ];

  return {
    /** Handles an event of the host, after progress has counted it. */
    onHostEvent: (event: HostEvent) => {
      const { sessionID } = event;
      if (endlessSteps.onHostEvent(event)) endTurn(sessionID);
      const task = runtime.snapshotOf(sessionID)?.context;
      if (!task || task.completedAt !== undefined) return;
      const repeated = toolCalls.onHostEvent(event);
      if (repeated && repeated.times >= repeat) endRun(ctx, sessionID, tooManyRepeats(repeated));
      if (event.type === "toolCall" || event.type === "step") measure(sessionID, task.facts.parentTaskId);
    },
    /** Measures a task again for which progress has counted more: a descendant session without a task of its own used it. */
    onUsed,
    stop: () => {
      for (const stop of stops) stop();
    },
  };
};

export type RunLimits = ReturnType<typeof createRunLimits>;

const end = async (ctx: EngineContext, taskId: string, error: TaskError, mayEnd: () => boolean): Promise<void> => {
  const { runtime, clock, log } = ctx;
  const run = runtime.snapshotOf(taskId)?.context.run;
  if (!run) return;
  // Read before the stop, while the host surely has the session.
  const said = await readLastWords(ctx, taskId, run.messageID).catch((reason) => {
    log.error("the last words of a task could not be read", { taskId, reason: errorMessage(reason) });
    return undefined;
  });
  if (runtime.snapshotOf(taskId)?.context.run.index !== run.index || !mayEnd()) return;
  runtime.send(taskId, { type: "LIMIT_EXCEEDED", at: clock.now(), error, ...(said === undefined ? {} : { said }) });
  // At once, as when a person cancels: the notices of these tasks would wake the session that is being stopped.
  if (runtime.snapshotOf(taskId)?.hasTag("stopping")) await cancelChildren(ctx, taskId);
};

/**
 * Ends the run of a task that is beyond a limit. Does nothing while that is under way, or when the run is not under way.
 * @param mayEnd is asked at the last moment, when the last words are read: the host may take seconds for them, and a run that
 * may not be ended by then goes on. Default: it may, since what is used stays used
 */
const endRun = (ctx: EngineContext, taskId: string, error: TaskError, mayEnd = () => true): void => {
  const { runtime, clock, log, endingRuns } = ctx;
  const snapshot = runtime.snapshotOf(taskId);
  if (endingRuns.has(taskId) || !snapshot?.can({ type: "LIMIT_EXCEEDED", at: clock.now(), error })) return;
  endingRuns.add(taskId);
  end(ctx, taskId, error, mayEnd)
    .catch((reason) => log.error("a task beyond its limit was not ended", { taskId, reason: errorMessage(reason) }))
    .finally(() => endingRuns.delete(taskId));
};

/** What shows how long runs take. */
interface Sources {
  runtime: Pick<Runtime, "liveTasks">;
  clock: Pick<Clock, "now">;
  toolCalls: Pick<ToolCallLog, "isToolRunning">;
}

interface OverdueRun {
  taskId: string;
  /** Milliseconds. */
  taken: number;
}

const idOf = ({ context }: TaskSnapshot): string => context.facts.sessionID;

const beginOf = ({ context: { queuedUntil, run } }: TaskSnapshot): number => queuedUntil ?? run.startedAt;

/** Returns the tasks in which a tool runs or a person is waited for, and all their ancestors. */
const sparedTasks = (tasks: readonly TaskSnapshot[], { toolCalls }: Sources): ReadonlySet<string> => {
  const isBusyOrAsking = ({ context: { facts, userRequests } }: TaskSnapshot): boolean =>
    userRequests.length > 0 || toolCalls.isToolRunning(facts.sessionID);
  const parents = new Map(tasks.map(({ context: { facts } }) => [facts.sessionID, facts.parentTaskId] as const));
  const spared = new Set<string>();
  for (const task of tasks) {
    if (!isBusyOrAsking(task)) continue;
    for (let id: string | undefined = idOf(task); id !== undefined && !spared.has(id); ) {
      spared.add(id);
      id = parents.get(id);
    }
  }
  return spared;
};

/**
 * Returns the runs that have taken longer than `limit` milliseconds. Time in the queue does not count, nor does what was
 * before it: a run that waited for another model's slot is timed from then on. A run is spared while a tool visibly runs in
 * its session or a descendant of it, while a person is waited for there, or while its gate runs, which has a limit of its own.
 */
export const overdueRuns = (sources: Sources, limit: number): OverdueRun[] => {
  const { runtime, clock } = sources;
  const tasks = runtime.liveTasks();
  const spared = sparedTasks(tasks, sources);
  return tasks.flatMap((task) => {
    const isAtWork =
      task.context.completedAt === undefined && slotOf(task) !== "waiting" && !task.matches({ run: "gating" });
    const taken = clock.now() - beginOf(task);
    return isAtWork && taken > limit && !spared.has(idOf(task)) ? { taskId: idOf(task), taken } : [];
  });
};

/** Ends the runs that are overdue, but for those that are not any more when their last words have been read. */
export const endOverdueRuns = (ctx: EngineContext, limit: number): void => {
  for (const { taskId, taken } of overdueRuns(ctx, limit)) {
    const isStillOverdue = () => overdueRuns(ctx, limit).some((run) => run.taskId === taskId);
    endRun(ctx, taskId, tookTooLong(taken, limit), isStillOverdue);
  }
};
