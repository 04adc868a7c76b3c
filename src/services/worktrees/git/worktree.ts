// ADR-244 in docs/decisions.md
import { existsSync } from "node:fs";
import { rm, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { GitError, git, items } from "./git.ts";

/** A ref that only its own worktree sees. It keeps the commit that the worktree began with. */
const BASE = "refs/worktree/taskchart-base";

const megabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000);

/** Returns the bytes that the disk of a folder has left. */
const freeBytesAt = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/**
 * Refuses what a disk has no room for: git says of a full one no more than which files it could not write.
 * @throws GitError with the sizes
 */
const requireRoom = async (top: string, commit: string, free: number): Promise<void> => {
  const { stdout } = await git(top, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit]);
  const needed = items(stdout).reduce((sum, entry) => sum + Number(/ +(\d+)\t/.exec(entry)?.[1] ?? 0), 0);
  if (needed < free) return;
  throw new GitError(`the disk has ${megabytes(free)} MB left, and the files take ${megabytes(needed)} MB`);
};

/**
 * Makes a worktree with the files of a commit. It is on no branch, and locked, so that `git worktree prune` leaves it alone.
 * @param top the folder of a working tree of the repository
 * @param freeBytes only tests pass it
 * @throws GitError when it cannot be made, as on a full disk; nothing is left of it then
 */
export const addWorktree = async (
  top: string,
  path: string,
  commit: string,
  freeBytes = freeBytesAt,
): Promise<void> => {
  await requireRoom(top, commit, await freeBytes(dirname(path)));
  try {
    await git(top, [
      "worktree",
      "add",
      "--quiet",
      "--detach",
      "--lock",
      "--reason",
      "opencode-taskchart",
      path,
      commit,
    ]);
    await keepBase(path, commit);
  } catch (error) {
    await removeWorktree(top, path);
    throw error;
  }
};

/** Keeps a commit for as long as the worktree is there. @throws GitError */
export const keepBase = async (path: string, commit: string): Promise<void> => {
  await git(path, ["update-ref", BASE, commit]);
};

/**
 * Removes a worktree with all that is in it, even where its folder or its repository is gone.
 * @throws Error when the folder cannot be removed
 */
export const removeWorktree = async (top: string, path: string): Promise<void> => {
  try {
    // Twice: once for its changes, once for its lock.
    if (existsSync(top)) await git(top, ["worktree", "remove", "--force", "--force", path]);
  } catch (error) {
    // Git does not know it, or no longer.
    if (!(error instanceof GitError)) throw error;
  }
  await rm(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
};
