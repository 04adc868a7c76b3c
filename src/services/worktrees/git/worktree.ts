// ADR-244 in docs/decisions.md
import { rm, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { GitError, git, items, type WorkingTree } from "./git.ts";
import { entriesOf, lockReason, worktreeAt } from "./working-tree.ts";

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
const requireRoom = async (source: WorkingTree, commit: string, free: number): Promise<void> => {
  const entries = items(await git(source, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit]));
  const needed = entries.reduce((sum, entry) => sum + Number(/ +(\d+)\t/.exec(entry)?.[1] ?? 0), 0);
  if (needed < free) return;
  throw new GitError(`the disk has ${megabytes(free)} MB left, and the files take ${megabytes(needed)} MB`);
};

/**
 * Makes a worktree with the files of a commit. It is on no branch, and locked, so that `git worktree prune` leaves it alone.
 * @param source a working tree of the repository
 * @param freeBytes only tests pass it
 * @throws GitError when it cannot be made, as on a full disk; nothing is left of it then
 */
export const addWorktree = async (
  source: WorkingTree,
  path: string,
  commit: string,
  freeBytes = freeBytesAt,
): Promise<WorkingTree> => {
  await requireRoom(source, commit, await freeBytes(dirname(path)));
  const lock = ["--lock", "--reason", lockReason(path)];
  try {
    await git(source, ["worktree", "add", "--quiet", "--detach", "--no-guess-remote", ...lock, path, commit]);
    const made = await worktreeAt(source, path);
    await keepBase(made, commit);
    return made;
  } catch (error) {
    await removeWorktree(source, path);
    throw error;
  }
};

/** Keeps a commit for as long as the worktree is there. @throws GitError */
export const keepBase = async (tree: WorkingTree, commit: string): Promise<void> => {
  await git(tree, ["update-ref", BASE, commit]);
};

/**
 * Removes a worktree with all that is in it, and what its repository knows of it. Without git, which knows no worktree that it
 * was killed in making, and would look into the folder's `.git`, which may be the agent's. The folder goes last: as long as it
 * is there, whoever finds it removes the rest.
 * @param source a working tree of the same repository; undefined where that is gone
 * @throws Error when something of it cannot be removed
 */
export const removeWorktree = async (source: WorkingTree | undefined, path: string): Promise<void> => {
  for (const folder of [...(source ? await entriesOf(source, path) : []), path])
    await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
};
