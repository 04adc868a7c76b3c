import { rm } from "node:fs/promises";
import type { WorktreeChanges } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import type { WorktreePaths } from "./folders.ts";
import { changesBetween, writePatch } from "./git/changes.ts";
import { takeSnapshot } from "./git/snapshot.ts";
import { writeChanges } from "./record.ts";

/** Counts what was changed in a worktree since `base`, and writes it down, with its patch. */
export const countChanges = async (
  paths: WorktreePaths,
  { base, run, now }: { base: string; run: number; now: number },
): Promise<WorktreeChanges> => {
  const counted = await readTree(paths, base)
    .then((files): WorktreeChanges => ({ run, at: now, files }))
    .catch((error): WorktreeChanges => ({ run, at: now, files: [], problem: errorMessage(error) }));
  writeChanges(paths, counted);
  return counted;
};

const readTree = async ({ tree, patch }: WorktreePaths, base: string) => {
  const { commit } = await takeSnapshot(tree);
  const files = await changesBetween(tree, base, commit);
  if (files.length > 0) await writePatch(tree, base, commit, patch);
  else await rm(patch, { force: true });
  return files;
};
