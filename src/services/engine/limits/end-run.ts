import type { TaskSnapshot } from "../../../machines/task/machine.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import type { TaskError } from "../../../task.ts";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage } from "../../platform/log.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { tookTooLong } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { cancelChildren } from "../operations/cancel.ts";
import { readLastWords } from "../operations/read-task.ts";
import type { ToolCallLog } from "./loops.ts";

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
export const endRun = (ctx: EngineContext, taskId: string, error: TaskError, mayEnd = () => true): void => {
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
