// Removes worktrees without being asked to, so each removal first takes the lock, and looks whether a person used it meanwhile.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { hasEnded, type Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isHalfApplied, isThere, pathsOf, type WorktreePaths } from "./folders.ts";
import { isLocked, whileLocked } from "./lock.ts";
import { readChanges, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";

/** What the worktrees of an engine are worked on with. */
export interface WorktreesContext {
  /** The folder of all worktrees. */
  root: string;
  host: Pick<Host, "closeDirectory">;
  clock: Clock;
  log: Log;
}

/** Removes a worktree that is there, and notes why. What is known of it stays. */
export const dropWorktree = async (
  paths: WorktreePaths,
  record: WorktreeRecord,
  gone: NonNullable<WorktreeRecord["gone"]>,
): Promise<void> => {
  writeRecord(paths, { ...record, gone });
  const { findTree, removeWorktree } = await import("./git/working-tree.ts");
  await removeWorktree(await findTree(record.source), paths.tree);
};

/** Removes the tree. The host gives up what it has in memory for it first. */
const dropLocked = async (
  { root, host, log }: WorktreesContext,
  id: string,
  record: WorktreeRecord,
  gone: NonNullable<WorktreeRecord["gone"]>,
): Promise<void> => {
  const paths = pathsOf(root, id);
  const closed = await host.closeDirectory(join(paths.tree, record.subfolder));
  if (!closed.ok) log.info("OpenCode did not close a worktree", { id, reason: closed.failure.message });
  await dropWorktree(paths, record, gone);
  await rm(paths.applied, { force: true });
};

/** Removes the tree of a worktree, and keeps what is known of it. @throws Error where that is not `record` any more */
export const dropTree = (
  context: WorktreesContext,
  id: string,
  record: WorktreeRecord,
  gone: NonNullable<WorktreeRecord["gone"]>,
): Promise<void> =>
  whileLocked(context, id, async () => {
    // A person may have had it applied since the caller looked.
    if (JSON.stringify(readRecord(pathsOf(context.root, id))) !== JSON.stringify(record))
      throw new Error("it has changed in the meantime");
    await dropLocked(context, id, record, gone);
  });

/** Removes a worktree with all that is known of it. @throws Error as `whileLocked` does */
export const removeAll = async (context: WorktreesContext, id: string): Promise<void> => {
  const paths = pathsOf(context.root, id);
  if (!existsSync(paths.folder)) return;
  await whileLocked(context, id, async () => {
    const record = readRecord(paths);
    if (record && isThere(paths))
      await dropLocked(context, id, record, record.gone ?? { why: "clean", at: context.clock.now() });
    await rm(paths.folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
  });
};

/**
 * Milliseconds after which a worktree without a task has none to come: its launch was cut off. Making one may take ten
 * minutes for its setup command.
 */
const LAUNCH_LIMIT_MS = 3_600_000;

/**
 * Returns what is due for a worktree of a project: to finish or undo what a process that has ended was applying, to remove all of
 * it where its task is gone or its launch was cut off, or to expire it where it was kept for long enough.
 * @param keep milliseconds for which a worktree is kept after its task's end
 * @param now epoch milliseconds
 */
export const whatIsDue = (
  { root, keep, project, now }: { root: string; keep: number; project: string; now: number },
  id: string,
  taskOf: (sessionID: string) => Task | undefined,
): "remove" | "expire" | "recover" | undefined => {
  const paths = pathsOf(root, id);
  const record = readRecord(paths);
  if (record?.project !== project || isLocked(paths, now)) return undefined;
  if (isHalfApplied(paths)) return "recover";
  const { taskId, createdAt, gone } = record;
  if (taskId === undefined) return now - createdAt > LAUNCH_LIMIT_MS ? "remove" : undefined;
  const task = taskOf(taskId);
  // Not at once: where the file of tasks cannot be read, or was removed, the changes are all that is left.
  if (!task) return now - Math.max(createdAt, gone?.at ?? 0, readChanges(paths)?.at ?? 0) > keep ? "remove" : undefined;
  if (!hasEnded(task) || !isThere(paths)) return undefined;
  // A process may have died while it removed the worktree.
  return gone || now - Date.parse(task.completedAt ?? task.startedAt) > keep ? "expire" : undefined;
};
