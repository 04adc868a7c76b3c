import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeWholeWith } from "../platform/private-files.ts";
import type { WorktreePaths } from "./folders.ts";
import { patchedTree } from "./git/changes.ts";
import { has } from "./git/commit.ts";
import { place } from "./git/placing.ts";
import { forgetPlaced } from "./git/placing-journal.ts";
import { entriesBetween } from "./git/placing-plan.ts";
import { takeSnapshot } from "./git/snapshot.ts";
import { findTree, withObjects, withTemporaryFolder } from "./git/working-tree.ts";
import { keepBase, removeWorktree } from "./git/worktree.ts";
import { makeWorktree, type WorktreePlan } from "./make-worktree.ts";
import { treesOf } from "./read-changes.ts";
import { readRecord, type WorktreeRecord } from "./record.ts";

/** Applies a patch to a worktree at the commit that it was made of. @throws GitError where it does not fit */
const applyPatch = async (paths: WorktreePaths, record: WorktreeRecord, patch: string): Promise<void> => {
  const { own: tree, source: filtersIn } = await treesOf(paths, record);
  await withTemporaryFolder((folder) =>
    withObjects(tree, async (objects) => {
      const index = join(folder, "index");
      const { commit } = await takeSnapshot(tree, index);
      const to = await patchedTree(objects, commit, patch);
      const entries = await entriesBetween(objects, commit, to);
      await place({ tree, entries, to, index, files: [], journal: paths, filtersIn });
      forgetPlaced(paths);
    }),
  );
};

/**
 * Makes a worktree again, with the changes that were in it when it was removed.
 * @throws Error where the commit cannot be had, or the patch does not fit it; nothing is left of the worktree then
 */
export const makeWithChanges = async (plan: WorktreePlan): Promise<WorktreeRecord> => {
  const { paths } = plan;
  return makeWorktree(plan, async (made) => {
    await applyPatch(paths, made, paths.patch);
    return made;
  });
};

/**
 * Makes a worktree of what an agent changed on another server, where `patch` says what that was. Does nothing where that
 * was done before.
 * @param before the record of the worktree that was made of its changes in the run before; undefined where there is none
 * @param whileLocked does what no other process may do to the worktree at the same time
 * @throws Error where the commit cannot be had, or the patch does not fit it; the patch is kept then in `paths.received`, if the
 * disk takes it
 */
export const receiveChanges = async (
  plan: Omit<WorktreePlan, "setup"> & { commit: string },
  patch: Uint8Array,
  before: WorktreeRecord | undefined,
  whileLocked: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<WorktreeRecord> => {
  const { paths } = plan;
  const known = readRecord(paths);
  if (known?.base !== undefined && existsSync(paths.patch)) return known;
  await keepPatch(paths, patch);
  return whileLocked(async () => {
    if (known) await removeWorktree(await findTree(known.source), paths.tree);
    return makeWorktree({ ...plan, setup: undefined }, async (made) => {
      await applyPatch(paths, made, paths.received);
      const record = await countFromApplied(paths, made, before);
      await rename(paths.received, paths.patch);
      return record;
    });
  });
};

/**
 * Has only what a person has not applied yet count as changed: what is applied is in the person's tree, and would be merged
 * with itself.
 */
const countFromApplied = async (
  paths: WorktreePaths,
  made: WorktreeRecord,
  before: WorktreeRecord | undefined,
): Promise<WorktreeRecord> => {
  const base = before?.gone?.end ?? before?.base;
  // Git removes commits that nothing leads to, after weeks.
  const { own } = await treesOf(paths, made);
  if (base === undefined || !(await has(own, base))) return made;
  await keepBase(own, base);
  return { ...made, base };
};

const keepPatch = async ({ folder, received }: WorktreePaths, patch: Uint8Array): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeWholeWith(received, (draft) => writeFile(draft, patch, { mode: 0o600 }));
};
