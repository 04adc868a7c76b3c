// ADR-244 in docs/decisions.md
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headOf } from "./commit.ts";
import { git, items, line } from "./git.ts";

/** The mode of an entry that is a repository of its own: a submodule, or one that lies in the tree. */
const REPOSITORY = "160000 ";

/** A tree as it stood at one moment. */
export interface Snapshot {
  /** The commit that has all of its files, new ones included, and none that git ignores. No branch leads to it. */
  commit: string;
  /** Paths of repositories within the tree: a worktree has none of their files. */
  repositories: string[];
}

/** Returns the folder of the working tree that a directory belongs to. @throws GitError when it belongs to none */
export const topOf = (directory: string): Promise<string> => line(directory, ["rev-parse", "--show-toplevel"]);

/** Returns the folder that all worktrees of a repository share. @throws GitError outside of a repository */
export const repositoryOf = (directory: string): Promise<string> =>
  line(directory, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);

/**
 * Copies the index, if there is one: with it git need not read files that have not changed. The copy is no younger than the
 * index, for git reads again what has changed in the moment in which that was written.
 */
const copyIndex = async (top: string, to: string): Promise<void> => {
  const index = await line(top, ["rev-parse", "--path-format=absolute", "--git-path", "index"]);
  if (!existsSync(index)) return;
  const { mtimeMs } = await stat(index);
  await copyFile(index, to);
  const writtenAt = new Date(Math.floor(mtimeMs));
  await utimes(to, writtenAt, writtenAt);
};

/** Gives `work` a folder that is removed afterwards. */
export const withTemporaryFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), "taskchart-git-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Makes a commit of a tree that no branch leads to. */
export const commitTree = (top: string, tree: string, parents: readonly string[]): Promise<string> =>
  line(top, ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-m", "A tree as it stood"]);

/**
 * Takes a snapshot of a working tree: what is staged, what is not, and new files. Files, index, branches and stash stay as
 * they are.
 * @param top the folder of the working tree
 * @throws GitError when a file cannot be read, or a repository in the tree has no commit
 */
export const takeSnapshot = (top: string): Promise<Snapshot> =>
  withTemporaryFolder(async (folder) => {
    const index = join(folder, "index");
    await copyIndex(top, index);
    const env = { GIT_INDEX_FILE: index };
    await git(top, ["-c", "advice.addEmbeddedRepo=false", "add", "-A"], { env });
    const listed = items((await git(top, ["ls-files", "--stage", "-z"], { env })).stdout);
    const tree = await line(top, ["write-tree"], { env });
    const head = await headOf(top);
    return {
      commit: await commitTree(top, tree, head === undefined ? [] : [head]),
      repositories: listed.flatMap((entry) =>
        entry.startsWith(REPOSITORY) ? entry.slice(entry.indexOf("\t") + 1) : [],
      ),
    };
  });
