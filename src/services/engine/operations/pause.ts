import type { PausedBy, TaskEvent } from "../../../machines/task/events.ts";
import { isBeingPaused, isPaused } from "../../../machines/task/machine.ts";
import { hasEnded, type Task } from "../../../task.ts";
import type { EngineContext } from "../context.ts";
import type { CancelResult } from "../requests.ts";
import { launchedBy } from "./cancel.ts";
import { getTask } from "./read-task.ts";

/**
 * Returns those that are supervised here of tasks and all that they have launched, at any depth: also below a task that has
 * ended, for one below it may have been resumed since.
 */
const withDescendants = ({ store, runtime }: EngineContext, taskIds: readonly string[]): string[] => {
  const found = new Set<string>();
  for (let next = [...taskIds]; next.length > 0; ) {
    const fresh = next.filter((id) => !found.has(id));
    for (const id of fresh) found.add(id);
    next = launchedBy({ store }, fresh);
  }
  return [...found].filter((id) => runtime.snapshotOf(id));
};

/** Gives tasks an event, where they take it. Returns why each of the others does not. */
const sendToEach = ({ runtime }: EngineContext, taskIds: readonly string[], event: TaskEvent): Map<string, string> => {
  const refusals = new Map<string, string>();
  for (const taskId of taskIds) {
    const refused = runtime.refusalReason(taskId, event);
    if (refused === undefined) runtime.send(taskId, event);
    else refusals.set(taskId, refused);
  }
  return refusals;
};

const resultsOf = (ctx: EngineContext, taskIds: readonly string[], refusals: ReadonlyMap<string, string>) =>
  taskIds.flatMap((taskId): CancelResult[] => {
    const task = getTask(ctx, taskId);
    if (!task) return [];
    const refused = refusals.get(taskId);
    return [refused === undefined ? { task } : { task, refused }];
  });

const NOT_PAUSED = "could not be stopped, and works on: try again";

/** True for a task that neither stopped nor ended. Where this process ends meanwhile, the next one stops it. */
const isStillAtWork = ({ runtime, stopping }: EngineContext, task: Task): boolean =>
  !stopping.signal.aborted && !hasEnded(task) && !isPaused(runtime.snapshotOf(task.sessionID));

/** Resolves once none of the tasks is being stopped any more: a task's chart gives up after ten attempts. */
const untilPaused = ({ runtime, stopping }: EngineContext, taskIds: readonly string[]): Promise<void> =>
  new Promise((resolve) => {
    const isDone = () =>
      stopping.signal.aborted || taskIds.every((taskId) => !isBeingPaused(runtime.snapshotOf(taskId)));
    const finish = () => {
      unsubscribe();
      stopping.signal.removeEventListener("abort", finish);
      resolve();
    };
    const unsubscribe = runtime.subscribe((task: Task) => {
      if (taskIds.includes(task.sessionID) && isDone()) finish();
    });
    stopping.signal.addEventListener("abort", finish);
    if (isDone()) finish();
  });

/**
 * Pauses tasks and all that they have launched: each keeps its conversation and what was done, and holds no slot until it is told
 * to go on. Resolves when they have stopped. Returns what came of the tasks that were named: one that ended just before is not
 * paused, and says so by its status.
 */
export const pauseTasks = async (ctx: EngineContext, taskIds: string[], by: PausedBy): Promise<CancelResult[]> => {
  const all = withDescendants(ctx, taskIds);
  const refusals = sendToEach(ctx, [...new Set([...taskIds, ...all])], { type: "PAUSE", at: ctx.clock.now(), by });
  await untilPaused(ctx, all);
  return resultsOf(ctx, taskIds, refusals).map((result) =>
    result.refused === undefined && isStillAtWork(ctx, result.task) ? { ...result, refused: NOT_PAUSED } : result,
  );
};

/** Has just these tasks continue. Returns why each of the others does not. */
export const continueThese = async (ctx: EngineContext, taskIds: readonly string[]): Promise<Map<string, string>> => {
  const { runtime, clock, stopsUnderWay } = ctx;
  // What still stops the run would stop it again.
  await Promise.all(taskIds.map((taskId) => stopsUnderWay.untilDone(taskId)));
  const refusals = sendToEach(ctx, taskIds, { type: "CONTINUE", at: clock.now() });
  for (const taskId of taskIds) {
    if (refusals.has(taskId)) continue;
    // Notices for its agent have waited.
    runtime.dispatch({ type: "OUTBOX", id: taskId, event: { type: "PARENT_CHANGED", at: clock.now() } });
  }
  return refusals;
};

/** Has paused tasks go on, and all that they have launched. Returns what came of those that were named. */
export const continueTasks = async (ctx: EngineContext, taskIds: string[]): Promise<CancelResult[]> => {
  const refusals = await continueThese(ctx, [...new Set([...taskIds, ...withDescendants(ctx, taskIds)])]);
  return resultsOf(ctx, taskIds, refusals);
};
