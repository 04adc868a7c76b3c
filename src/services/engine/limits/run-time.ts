import type { TaskSnapshot } from "../../../machines/task/machine.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { tookTooLong } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { endRun } from "./end-run.ts";
import type { ToolCallLog } from "./tool-calls.ts";

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

/** Returns the tasks in which a tool runs or a person is waited for, and all tasks above them. */
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
 * its session or below it, while a person is waited for there, or while its gate runs, which has a limit of its own.
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
