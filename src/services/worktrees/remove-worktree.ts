import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isCutOff, isThere, pathsOf } from "./folders.ts";
import { isInUse, readRecord, type WorktreeRecord } from "./record.ts";

/** Removes worktrees that nobody asked to remove. */
export interface WorktreeRemoval {
  /** Removes the tree, and keeps what is known of it. */
  drop(id: string, record: WorktreeRecord, gone: NonNullable<WorktreeRecord["gone"]>): Promise<void>;
  /** Removes all that there is. */
  remove(id: string): Promise<void>;
  /** Finishes or undoes what a process that has ended was applying. @throws Error where neither can be done, or one is at it */
  recover(id: string): Promise<void>;
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
    if (isInUse(readRecord(paths), clock.now())) throw new Error("its changes are being applied or discarded");
    if (!isCutOff(paths)) return;
    const journal = await import("./git/placing-journal.ts");
    const cutOff = await journal.recover(paths);
    if (cutOff) log.info("applying changes was cut off", { id, ...cutOff, files: cutOff.files.length });
  };
  const drop: WorktreeRemoval["drop"] = async (id, record, gone) => {
    const paths = pathsOf(root, id);
    await recover(id);
    const closed = await host.closeDirectory(join(paths.tree, record.below));
    if (!closed.ok) log.info("OpenCode did not close a worktree", { id, reason: closed.failure.message });
    const { dropWorktree } = await import("./make-worktree.ts");
    await dropWorktree(paths, record, gone);
    await rm(paths.applied, { force: true });
  };
  return {
    drop,
    recover,
    remove: async (id) => {
      const paths = pathsOf(root, id);
      await recover(id);
      const record = readRecord(paths);
      if (record && isThere(paths)) await drop(id, record, record.gone ?? { why: "clean", at: clock.now() });
      await rm(paths.folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
    },
  };
};
