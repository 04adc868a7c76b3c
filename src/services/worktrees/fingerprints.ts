// The files that a gate saw are named by a fingerprint (docs/decisions/304-a-gate-names-the-files-it-saw.md).
import { errorMessage } from "../platform/log.ts";
import { pathsOf, worktreeIdOf } from "./folders.ts";
import type { WorkingTree } from "./git/git.ts";
import { readRecord } from "./record.ts";

/** Milliseconds that git may take. Ten thousand files take it half a second on a machine that is busy (measured). */
const TIME_LIMIT_MS = 10_000;

/** A fingerprint of files, or why there is none. */
export type FilesRead = { fingerprint: string } | { problem: string };

/** Finds the working tree that a directory lies in; undefined where it lies in none. @throws GitError when git cannot say so */
const findTreeOf = async (root: string, directory: string): Promise<WorkingTree | undefined> => {
  const { findTree, worktreeAt } = await import("./git/working-tree.ts");
  const id = worktreeIdOf(root, directory);
  if (id === undefined) return findTree(directory);
  const paths = pathsOf(root, id);
  const record = readRecord(paths);
  const source = record && !record.gone ? await findTree(record.source) : undefined;
  return source && worktreeAt(source, paths.tree);
};

/**
 * Takes the fingerprint of all files in the working tree that a directory lies in. Never rejects.
 * @param root the folder of all worktrees
 */
export const readFiles = async (root: string, directory: string): Promise<FilesRead> => {
  const endsAt = Date.now() + TIME_LIMIT_MS;
  try {
    const tree = await findTreeOf(root, directory);
    if (!tree) return { problem: "the folder in which it ran is in no git repository" };
    const { fingerprintOf } = await import("./git/snapshot.ts");
    return { fingerprint: await fingerprintOf({ ...tree, endsAt }) };
  } catch (error) {
    if (Date.now() >= endsAt) return { problem: `git took longer than ${TIME_LIMIT_MS / 1_000} s to read them` };
    return { problem: `git could not read them: ${errorMessage(error)}` };
  }
};
