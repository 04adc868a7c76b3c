// ADR-143 in docs/decisions.md
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
 * visibly runs in its session or below it, or while a person is waited for there.
 */
export const createRunTimeCheck =
  ({ runtime, clock, toolCalls, endRun, limit }: RunTimeDeps) =>
  (): void => {
    const tasks = runtime.liveTasks();
    const live = new Map(tasks.map(({ context }) => [context.facts.sessionID, context] as const));
    const spared = new Set<string>();
    for (const [taskId, { userRequests }] of live) {
      if (userRequests.length === 0 && !toolCalls.isToolRunning(taskId)) continue;
      for (let id: string | undefined = taskId; id !== undefined && !spared.has(id); ) {
        spared.add(id);
        id = live.get(id)?.facts.parentTaskId;
      }
    }
    for (const snapshot of tasks) {
      const { context } = snapshot;
      const taskId = context.facts.sessionID;
      const isAtWork = context.completedAt === undefined && slotOf(snapshot) !== "waiting";
      const taken = clock.now() - beginOf(context);
      if (isAtWork && taken > limit && !spared.has(taskId)) endRun(taskId, tookTooLong(taken, limit));
    }
  };

const beginOf = ({ queuedUntil, run }: TaskSnapshot["context"]): number => queuedUntil ?? run.startedAt;
