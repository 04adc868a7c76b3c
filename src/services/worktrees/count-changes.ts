import type { WorktreeChanges } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import type { WorktreePaths } from "./folders.ts";
import { readChangesIn } from "./read-changes.ts";
import { type WorktreeRecord, writeChanges } from "./record.ts";

/** Counts what was changed in a worktree since `base`, and writes it down, with its patch. */
export const countChanges = async (
  paths: WorktreePaths,
  record: WorktreeRecord,
  { base, run, now }: { base: string; run: number; now: number },
): Promise<WorktreeChanges> => {
  const counted = await readChangesIn(paths, record, base)
    .then(({ files, leftOut }): WorktreeChanges => ({ run, at: now, files, ...(leftOut.length > 0 && { leftOut }) }))
    .catch((error): WorktreeChanges => ({ run, at: now, files: [], problem: errorMessage(error) }));
  writeChanges(paths, counted);
  return counted;
};

/** True where nothing is lost when the worktree goes: all of it was counted, and is in the patch. */
export const isKept = ({ problem, leftOut }: WorktreeChanges): boolean => problem === undefined && !leftOut;
