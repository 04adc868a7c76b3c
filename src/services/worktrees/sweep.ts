import { hasEnded, type Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { idsIn, isHalfApplied, isThere, pathsOf } from "./folders.ts";
import { isLocked } from "./lock.ts";
import { readChanges, readRecord } from "./record.ts";
import type { WorktreeOptions, Worktrees } from "./worktrees.ts";

/**
 * Milliseconds after which a worktree without a task has none to come: its launch was cut off. Making one may take ten
 * minutes for its setup command.
 */
const LAUNCH_LIMIT_MS = 3_600_000;

/** What worktrees are swept with. */
export interface SweepDeps {
  options: Pick<WorktreeOptions, "root" | "keep">;
  /** Only worktrees of this directory's tasks are swept. */
  home: string;
  worktrees: Pick<Worktrees, "expire" | "remove" | "recover">;
  clock: Clock;
  log: Log;
  taskOf(sessionID: string): Task | undefined;
}

/**
 * Finishes or undoes what was being applied when its process ended. Removes the worktrees of tasks that are gone, those of
 * launches that were cut off, and those that were kept for long enough.
 * Returns a promise for each, which never rejects.
 */
export const sweepWorktrees = ({ options, home, worktrees, clock, log, taskOf }: SweepDeps): Promise<void>[] => {
  const { root, keep } = options;
  const now = clock.now();

  const due = (id: string): "remove" | "expire" | "recover" | undefined => {
    const paths = pathsOf(root, id);
    const record = readRecord(paths);
    if (record?.home !== home || isLocked(paths, now)) return undefined;
    if (isHalfApplied(paths)) return "recover";
    const { taskId, createdAt, gone } = record;
    if (taskId === undefined) return now - createdAt > LAUNCH_LIMIT_MS ? "remove" : undefined;
    const task = taskOf(taskId);
    // Not at once: where the file of tasks cannot be read, or was removed, the changes are all that is left.
    if (!task)
      return now - Math.max(createdAt, gone?.at ?? 0, readChanges(paths)?.at ?? 0) > keep ? "remove" : undefined;
    if (!hasEnded(task) || !isThere(paths)) return undefined;
    // A process may have died while it removed the worktree.
    return gone || now - Date.parse(task.completedAt ?? task.startedAt) > keep ? "expire" : undefined;
  };

  return idsIn(root).flatMap((id) => {
    const what = due(id);
    if (what === undefined) return [];
    log.info("a worktree is swept", { id, what });
    return worktrees[what](id).catch((error) => {
      log.error("a worktree could not be swept", { id, what, reason: errorMessage(error) });
    });
  });
};
