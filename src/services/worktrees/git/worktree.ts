// ADR-244 in docs/decisions.md
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { GitError, git } from "./git.ts";

/** A ref that only its own worktree sees. It keeps the commit that the worktree began with. */
const BASE = "refs/worktree/taskchart-base";

/**
 * Makes a worktree with the files of a commit. It is on no branch, and locked, so that `git worktree prune` leaves it alone.
 * @param top the folder of a working tree of the repository
 * @throws GitError when it cannot be made, as on a full disk; nothing is left of it then
 */
export const addWorktree = async (top: string, path: string, commit: string): Promise<void> => {
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
