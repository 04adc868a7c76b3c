import type { HostEvent } from "../../machines/host-events.ts";
import { hasEnded, noProgress, type Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { EngineBus } from "../runtime/engine-events.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import { beyondBudget, type TaskBudget, tooManyRepeats } from "../text/limits.ts";
import type { EndRun } from "./end-run.ts";
import { createEndlessSteps } from "./endless-steps.ts";
import type { ToolCallLog } from "./tool-calls.ts";
import { createUsageSums } from "./usage.ts";

/** What budgets are kept with. */
export interface BudgetDeps {
  runtime: Runtime;
  clock: Clock;
  bus: EngineBus;
  store: Store;
  progress: ProgressLog;
  toolCalls: ToolCallLog;
  endRun: EndRun;
  budget: TaskBudget;
  /** How often in a row a task may call one tool with the same arguments: at this number its run ends. */
  repeat: number;
  /** The task for which a session counts that has no task of its own. */
  taskAbove(sessionID: string): string | undefined;
  /** Aborts the turn of a session. */
  abort(sessionID: string): Promise<void>;
}

/** Watches what tasks use, and ends those that are beyond a budget, go round in circles, or would never end. */
export interface Budgets {
  /** Takes an event of the host, after progress has counted it. */
  onHostEvent(event: HostEvent): void;
  /** Measures a task anew, of which progress has counted more: a session below it, which has no task of its own, has used it. */
  onUsed(taskId: string): void;
  stop(): void;
}

/** Creates the watch over budgets, loops and turns without an end. */
export const createBudgets = (deps: BudgetDeps): Budgets => {
  const { runtime, clock, bus, store, progress, toolCalls, endRun, budget, repeat, taskAbove, abort } = deps;
  const endlessSteps = createEndlessSteps();
  const isLimited = [budget.toolCalls, budget.tokens, budget.cost].some((limit) => limit !== undefined);
  const ownUsage = (taskId: string) => progress.of(taskId) ?? store.get(taskId)?.task.progress ?? noProgress("");
  const sums = createUsageSums({
    ownUsage,
    childTasks: (parentTaskId) => store.list({ parentTaskId }).map(({ sessionID }) => sessionID),
  });

  /** Ends the topmost task above this one if it is beyond its budget: it has used no less than those below it, and all stop with it. */
  const endBeyondBudget = (taskId: string) => {
    const [topmost = taskId] = sums.lineage(taskId);
    const used = sums.of(topmost);
    const error = used && beyondBudget(used, budget);
    if (error) endRun(topmost, error);
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

  /** A task's run decides what its turn came to. That of a session below it is ended here, and its caller goes on. */
  const endTurn = (sessionID: string) => {
    if (runtime.snapshotOf(sessionID)) runtime.send(sessionID, { type: "STEPS_WITHOUT_END", at: clock.now() });
    else if (taskAbove(sessionID) !== undefined) void abort(sessionID);
  };

  const stops = [
    runtime.subscribe(onTaskChanged),
    bus.on("tasksLost", (lost) => {
      for (const { sessionID } of lost) forget(sessionID);
    }),
    bus.on("usedElsewhere", ({ taskId }) => onUsed(taskId)),
  ];

  return {
    onHostEvent: (event) => {
      const { sessionID } = event;
      if (endlessSteps.onHostEvent(event)) endTurn(sessionID);
      const task = runtime.snapshotOf(sessionID)?.context;
      if (!task || task.completedAt !== undefined) return;
      const repeated = toolCalls.onHostEvent(event);
      if (repeated && repeated.times >= repeat) endRun(sessionID, tooManyRepeats(repeated));
      if (event.type === "toolCall" || event.type === "step") measure(sessionID, task.facts.parentTaskId);
    },
    onUsed,
    stop: () => {
      for (const stop of stops) stop();
    },
  };
};
