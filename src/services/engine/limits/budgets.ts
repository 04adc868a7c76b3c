import type { HostEvent } from "../../../machines/host-events.ts";
import { hasEnded, noProgress, type Task } from "../../../task.ts";
import { beyondBudget, tooManyRepeats } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { createBudgetTree } from "./budget-tree.ts";
import { endRun } from "./end-run.ts";
import { createEndlessSteps } from "./loops.ts";

/** Starts ending runs beyond a budget, runs in a loop, and turns that would never end. */
export const createBudgets = (ctx: EngineContext) => {
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

export type Budgets = ReturnType<typeof createBudgets>;
