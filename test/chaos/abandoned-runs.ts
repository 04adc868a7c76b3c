import { isPaused, isStopping } from "../../src/machines/task/machine.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";

/** Milliseconds within which such a run begins to stop. */
const STOPS_WITHIN = 3_000;

const runOf = ({ sessionID, resumeCount }: Task): string => `${sessionID}/${resumeCount}`;

const wasCancelled = ({ status, error }: Task): boolean => status === "cancelled" && error === undefined;

/** `now` returns epoch milliseconds. */
export const createAbandonedRuns = (now: () => number, fault: (words: string) => void) => {
  const known = new Set<string>();
  /** Since when a living process could stop each of them. */
  const stoppable = new Map<string, { taskId: string; since: number }>();

  return {
    add: (task: Task) => {
      known.add(runOf(task));
      stoppable.set(runOf(task), { taskId: task.sessionID, since: now() });
    },
    /** Records that a process ended, or took over tasks: what an earlier one was about to stop may go on. */
    supervisorChanged: () => stoppable.clear(),
    /** Records that time passed in which the process could stop nothing. */
    wasPaused: () => {
      for (const run of stoppable.values()) run.since = now();
    },
    /** True for a task whose parent need not be notified: its newest run was cancelled with the turn that waited. */
    isKnown: (task: Task) => wasCancelled(task) && known.has(runOf(task)),
    /** True for one whose parent must not be notified either. */
    isSurelyKnown: (task: Task) => wasCancelled(task) && stoppable.has(runOf(task)),
    /** Reports runs of this process that go on. */
    check: ({ store }: Stage) => {
      for (const [run, { taskId, since }] of stoppable) {
        const record = now() - since > STOPS_WITHIN ? store.get(taskId) : undefined;
        // It was paused with its parent, and goes on with it.
        if (record && isPaused(record.snapshot)) stoppable.delete(run);
        if (
          !record ||
          hasEnded(record.task) ||
          runOf(record.task) !== run ||
          isStopping(record.snapshot) ||
          isPaused(record.snapshot)
        )
          continue;
        fault(`${taskId} goes on though the turn that waited for it was aborted`);
      }
    },
  };
};

/**
 * The runs that are to be cancelled because the turn that waited for them was aborted. Their parents know that they end, and
 * get no notice; a process that ends before it has stopped one leaves it to the next, which lets it go on.
 */
export type AbandonedRuns = ReturnType<typeof createAbandonedRuns>;
