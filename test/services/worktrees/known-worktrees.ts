import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathsOf, type WorktreePaths } from "../../../src/services/worktrees/folders.ts";
import { type WorktreeRecord, writeChanges, writeRecord } from "../../../src/services/worktrees/record.ts";
import type { Task, WorktreeChanges } from "../../../src/task.ts";

/** A task that has ended, and has the worktree `w1`. */
export const ENDED = {
  sessionID: "ses_1",
  parentSessionID: "ses_p",
  description: "write",
  directory: "/project",
  status: "completed",
  startedAt: new Date(0).toISOString(),
  resumeCount: 0,
  worktree: { id: "w1", directory: "/worktrees/w1/tree", isShared: false },
} as Task;

/** What is known of a worktree, whose repository is gone. */
export const RECORD: WorktreeRecord = {
  ...{ project: "/project", source: "/nowhere/at/all", subfolder: "", createdAt: 0, taskId: "ses_1", base: "c0ffee" },
};

/** What there is of a worktree beside what is known of it. */
export interface Left {
  /** Default: true. */
  hasTree?: boolean;
  hasPatch?: boolean;
  changes?: WorktreeChanges;
}

/** Writes what is known of a worktree, and makes its folder, all without git. */
export const know = (
  root: string,
  record: WorktreeRecord | undefined,
  { hasTree = true, hasPatch = false, changes }: Left = {},
  id = "w1",
): WorktreePaths => {
  const paths = pathsOf(root, id);
  mkdirSync(paths.folder, { recursive: true });
  if (record) writeRecord(paths, record);
  if (changes) writeChanges(paths, changes);
  if (hasTree) {
    mkdirSync(paths.tree);
    writeFileSync(join(paths.tree, "a.txt"), "1\n");
  }
  if (hasPatch) writeFileSync(paths.patch, "a patch");
  return paths;
};
