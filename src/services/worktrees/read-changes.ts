// Reads and counts what is changed in a worktree. Nothing that the agent wrote is run for that
// (docs/decisions/256-git-runs-nothing-an-agent-wrote.md).
import { rm } from "node:fs/promises";
import type { ChangedFile, LeftOut, WorktreeChanges } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import type { WorktreePaths } from "./folders.ts";
import { changesBetween, writePatch } from "./git/commit.ts";
import type { WorkingTree } from "./git/git.ts";
import { hiddenByTask, leftOutOf } from "./git/left-out.ts";
import { takeTaskSnapshot } from "./git/snapshot.ts";
import { treeAt, withObjects, worktreeAt } from "./git/working-tree.ts";
import { type WorktreeRecord, writeChanges } from "./record.ts";

/** What is changed in a worktree. */
export interface ReadChanges {
  files: ChangedFile[];
  leftOut: LeftOut[];
  /** The commit of all that is in it, but for what is left out, and the tree of that. */
  commit: string;
  tree: string;
}

/** Finds the trees of a worktree: its own, and the person's that it was made from. @throws GitError */
export const treesOf = async (
  { tree }: WorktreePaths,
  { source }: Pick<WorktreeRecord, "source">,
): Promise<{ own: WorkingTree; source: WorkingTree }> => {
  const of = await treeAt(source);
  return { own: await worktreeAt(of, tree), source: of };
};

/** Reads what is changed in a worktree since the commit that it began with, and writes its patch anew. @throws GitError */
export const readChangesIn = async (
  paths: WorktreePaths,
  record: Pick<WorktreeRecord, "source" | "leftOut">,
  base: string,
): Promise<ReadChanges> => {
  const { own, source } = await treesOf(paths, record);
  const snapshot = await takeTaskSnapshot(own, source);
  const { commit, tree } = snapshot;
  const files = await withObjects(own, async (objects) => {
    const changed = await changesBetween(objects, base, commit);
    if (changed.length > 0) await writePatch(objects, base, commit, paths.patch);
    else await rm(paths.patch, { force: true });
    return changed;
  });
  const leftOut = leftOutOf(snapshot, await hiddenByTask(own, base, files));
  return { files, leftOut: leftOut.filter(({ path }) => !record.leftOut?.includes(path)), commit, tree };
};

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
export const isAllInPatch = ({ problem, leftOut }: WorktreeChanges): boolean => problem === undefined && !leftOut;
