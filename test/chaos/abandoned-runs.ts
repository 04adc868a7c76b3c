import { isStopping } from "../../src/machines/task/machine.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";

/**
 * The runs that are to be cancelled because the turn that waited for them was aborted. Their parents know that they end, and
 * get no notice; a process that ends before it has stopped one leaves it to the next, which lets it go on.
 */
export interface AbandonedRuns {
  add(task: Task): void;
  /** Records that a process ended, or took over tasks: what an earlier one was about to stop may go on. */
  supervisorChanged(): void;
  /** Records that time passed in which the process could stop nothing. */
  wasPaused(): void;
  /** True for a task whose parent need not be notified: its newest run was cancelled with the turn that waited. */
  isKnown(task: Task): boolean;
  /** True for one whose parent must not be notified either. */
  isSurelyKnown(task: Task): boolean;
  /** Reports runs of this process that go on. */
  check(stage: Stage): void;
}

/** Milliseconds within which such a run begins to stop. */
const STOPS_WITHIN = 3_000;

const runOf = ({ sessionID, resumeCount }: Task): string => `${sessionID}/${resumeCount}`;

const wasCancelled = ({ status, error }: Task): boolean => status === "cancelled" && error === undefined;

/** `now` returns epoch milliseconds. */
export const createAbandonedRuns = (now: () => number, fault: (words: string) => void): AbandonedRuns => {
  const known = new Set<string>();
  /** Since when a living process could stop each of them. */
  const stoppable = new Map<string, { taskId: string; since: number }>();

  return {
    add: (task) => {
      known.add(runOf(task));
      stoppable.set(runOf(task), { taskId: task.sessionID, since: now() });
    },
    supervisorChanged: () => stoppable.clear(),
    wasPaused: () => {
      for (const run of stoppable.values()) run.since = now();
    },
    isKnown: (task) => wasCancelled(task) && known.has(runOf(task)),
    isSurelyKnown: (task) => wasCancelled(task) && stoppable.has(runOf(task)),
    check: ({ store }) => {
      for (const [run, { taskId, since }] of stoppable) {
        const record = now() - since > STOPS_WITHIN ? store.get(taskId) : undefined;
        if (!record || hasEnded(record.task) || runOf(record.task) !== run || isStopping(record.snapshot)) continue;
        fault(`${taskId} goes on though the turn that waited for it was aborted`);
      }
    },
  };
};
