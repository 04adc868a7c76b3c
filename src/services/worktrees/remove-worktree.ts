import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isThere, pathsOf } from "./folders.ts";
import { readRecord, type WorktreeRecord } from "./record.ts";

/** Removes worktrees that nobody asked to remove. */
export interface WorktreeRemoval {
  /** Removes the tree, and keeps what is known of it. */
  drop(id: string, record: WorktreeRecord, why: "clean" | "expired" | "sent"): Promise<void>;
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
  const drop: WorktreeRemoval["drop"] = async (id, record, why) => {
    const paths = pathsOf(root, id);
    const closed = await host.closeDirectory(join(paths.tree, record.below));
    if (!closed.ok) log.info("OpenCode did not close a worktree", { id, reason: closed.failure.message });
    const { dropWorktree } = await import("./make-worktree.ts");
    await dropWorktree(paths, record, { why, at: clock.now() });
  };
  return {
    drop,
    remove: async (id) => {
      const paths = pathsOf(root, id);
      const record = readRecord(paths);
      if (record && isThere(paths)) await drop(id, record, "clean");
      await rm(paths.folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
    },
  };
};
