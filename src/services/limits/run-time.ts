// ADR-143, ADR-206 in docs/decisions.md
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import { slotOf } from "../../machines/task/slot.ts";
import type { Clock } from "../platform/clock.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { tookTooLong } from "../text/limits.ts";
import type { EndRun } from "./end-run.ts";
import type { ToolCallLog } from "./tool-calls.ts";

/** What the time of runs is limited with. */
export interface RunTimeDeps {
  runtime: Pick<Runtime, "liveTasks">;
  clock: Clock;
  toolCalls: Pick<ToolCallLog, "isToolRunning">;
  endRun: EndRun;
  /** Milliseconds that a run may take. */
  limit: number;
}

/**
 * Creates the function that ends the runs that have taken longer than `limit`. Time in the queue does not count, nor does
 * what was before it: a run that waited for another model's slot is timed from then on. A run is never ended while a tool
 * visibly runs in its session or below it, while a person is waited for there, or while its gate runs, which has a limit of
 * its own: not even if that began while its last words
 * were read.
 */
export const createRunTimeCheck = ({ runtime, clock, toolCalls, endRun, limit }: RunTimeDeps): (() => void) => {
  const isBusyOrAsking = ({ context: { facts, userRequests } }: TaskSnapshot): boolean =>
    userRequests.length > 0 || toolCalls.isToolRunning(facts.sessionID);

  /** The tasks in which a tool runs or a person is waited for, and all tasks above them. */
  const sparedTasks = (tasks: readonly TaskSnapshot[]): ReadonlySet<string> => {
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

  /** The runs that are to be ended now. */
  const overdueRuns = (): OverdueRun[] => {
    const tasks = runtime.liveTasks();
    const spared = sparedTasks(tasks);
    return tasks.flatMap((task) => {
      const isAtWork =
        task.context.completedAt === undefined && slotOf(task) !== "waiting" && !task.matches({ run: "gating" });
      const taken = clock.now() - beginOf(task);
      return isAtWork && taken > limit && !spared.has(idOf(task)) ? { taskId: idOf(task), taken } : [];
    });
  };

  return () => {
    for (const { taskId, taken } of overdueRuns()) {
      const isStillOverdue = () => overdueRuns().some((run) => run.taskId === taskId);
      endRun(taskId, tookTooLong(taken, limit), isStillOverdue);
    }
  };
};

interface OverdueRun {
  taskId: string;
  /** Milliseconds. */
  taken: number;
}

const idOf = ({ context }: TaskSnapshot): string => context.facts.sessionID;

const beginOf = ({ context: { queuedUntil, run } }: TaskSnapshot): number => queuedUntil ?? run.startedAt;
