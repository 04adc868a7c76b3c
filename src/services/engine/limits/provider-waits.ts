import { nextModelWithout } from "../../../machines/task/fallback.ts";
import type { TaskSnapshot } from "../../../machines/task/machine.ts";
import { isStoppedForPause, slotOf } from "../../../machines/task/slot.ts";
import type { RepeatOptions } from "../../platform/clock.ts";
import { logFault } from "../../platform/log.ts";
import { servedTooLate } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { continueThese } from "../operations/pause.ts";
import type { RunLimits } from "./run-limits.ts";

/** Interval (ms) at which tasks are looked at that a provider refuses. */
const INTERVAL_MS = 5_000;

/**
 * Milliseconds that a task keeps its slot and its turn while OpenCode waits for its provider: OpenCode's own pauses are at most
 * 30 s (measured), so that more is what a provider has said of a quota.
 */
export const LONG_WAIT_MS = 300_000;

/** The tasks below a task, at any depth, that work. */
const worksBelow = (taskId: string, tasks: readonly TaskSnapshot[]): boolean =>
  tasks.some(
    (task) =>
      task.context.facts.parentTaskId === taskId &&
      (slotOf(task) === "held" || worksBelow(task.context.facts.sessionID, tasks)),
  );

/**
 * Returns the check that has tasks wait without a slot for a provider that says when it serves again, and continue at that time.
 * One whose provider would keep it waiting for longer than `timeouts.provider` is ended. A task that has another model goes on
 * with that, and one whose own tasks work keeps its slot until they have ended, for they would be stopped with it.
 */
export const providerWaits = (ctx: EngineContext, { endRun }: Pick<RunLimits, "endRun">): RepeatOptions => {
  const { runtime, clock, log, options } = ctx;
  const { provider: limit } = options.timeouts;

  const setAside = (task: TaskSnapshot, tasks: readonly TaskSnapshot[]) => {
    const { facts, retry } = task.context;
    const at = clock.now();
    if (!retry || retry.until - at <= LONG_WAIT_MS || nextModelWithout(task.context)) return;
    const refusal = { message: retry.message, until: retry.until };
    if (retry.until - at > limit) {
      const isStillRefused = () => runtime.snapshotOf(facts.sessionID)?.context.retry?.until === retry.until;
      endRun(facts.sessionID, servedTooLate(refusal, { now: at, limit }), isStillRefused);
    } else if (!worksBelow(facts.sessionID, tasks)) {
      runtime.send(facts.sessionID, { type: "PAUSE", at, by: "provider", refusal });
    }
  };

  const check = (): void => {
    const tasks = runtime.liveTasks();
    for (const task of tasks) {
      const { facts, pause } = task.context;
      if (task.hasTag("retrying")) setAside(task, tasks);
      else if (isStoppedForPause(task) && pause?.refusal && pause.refusal.until <= clock.now()) {
        const onFault = logFault(log, "a task whose provider serves again did not continue", {
          taskId: facts.sessionID,
        });
        continueThese(ctx, [facts.sessionID]).catch(onFault);
      }
    }
  };

  return { every: INTERVAL_MS, work: check, fault: "it could not be checked which tasks wait for a provider" };
};
