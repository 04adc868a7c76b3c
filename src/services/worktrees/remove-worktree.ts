import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isCutOff, isThere, pathsOf } from "./folders.ts";
import { lock } from "./lock.ts";
import { readRecord, type WorktreeRecord } from "./record.ts";

/** Removes worktrees that nobody asked to remove. */
export interface WorktreeRemoval {
  /**
   * Does `work` while no other process uses the worktree, after it has finished or undone what a process that has ended was
   * applying. @throws Error where neither can be done, or another process uses it, and what `work` throws
   */
  whileLocked<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** The same without work, for a caller that holds the lock. */
  recover(id: string): Promise<void>;
  /** Removes the tree, and keeps what is known of it. @throws Error where that is not `record` any more */
  drop(id: string, record: WorktreeRecord, gone: NonNullable<WorktreeRecord["gone"]>): Promise<void>;
  /** Removes all that there is. */
  remove(id: string): Promise<void>;
}

/** What worktrees are removed with. */
export interface RemovalDeps {
  /** The folder of all worktrees. */
  root: string;
  host: Pick<Host, "closeDirectory">;
  clock: Clock;
  log: Log;
}

/** Creates the removal of worktrees. The host gives up what it has in memory for each first. */
export const createWorktreeRemoval = ({ root, host, clock, log }: RemovalDeps): WorktreeRemoval => {
  const recover: WorktreeRemoval["recover"] = async (id) => {
    const paths = pathsOf(root, id);
    if (!isCutOff(paths)) return;
    const journal = await import("./git/placing-journal.ts");
    const cutOff = await journal.recover(paths);
    if (cutOff) log.info("applying changes was cut off", { id, ...cutOff, files: cutOff.files.length });
  };

  const whileLocked: WorktreeRemoval["whileLocked"] = async (id, work) => {
    const release = lock(pathsOf(root, id), clock.now());
    if (!release) throw new Error("its changes are being applied or discarded");
    try {
      await recover(id);
      return await work();
    } finally {
      release();
    }
  };

  const dropLocked: WorktreeRemoval["drop"] = async (id, record, gone) => {
    const paths = pathsOf(root, id);
    const closed = await host.closeDirectory(join(paths.tree, record.below));
    if (!closed.ok) log.info("OpenCode did not close a worktree", { id, reason: closed.failure.message });
    const { dropWorktree } = await import("./make-worktree.ts");
    await dropWorktree(paths, record, gone);
    await rm(paths.applied, { force: true });
  };

  return {
    whileLocked,
    recover,
    drop: (id, record, gone) =>
      whileLocked(id, async () => {
        // A person may have had it applied since the caller looked.
        if (JSON.stringify(readRecord(pathsOf(root, id))) !== JSON.stringify(record))
          throw new Error("it has changed in the meantime");
        await dropLocked(id, record, gone);
      }),
    remove: async (id) => {
      const paths = pathsOf(root, id);
      if (!existsSync(paths.folder)) return;
      await whileLocked(id, async () => {
        const record = readRecord(paths);
        if (record && isThere(paths)) await dropLocked(id, record, record.gone ?? { why: "clean", at: clock.now() });
        await rm(paths.folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
      });
    },
  };
};
