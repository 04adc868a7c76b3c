import { git, items, line } from "./git.ts";

/** The mode of an entry that is a repository of its own. */
const REPOSITORY = "160000 ";

/** Returns the commit that is checked out; undefined before the first one. @throws GitError outside of a repository */
export const headOf = async (top: string): Promise<string | undefined> => {
  const { code, stdout } = await git(top, ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], { answers: [1] });
  return code === 0 ? stdout.trimEnd() : undefined;
};

/** True where a branch of some remote leads to the commit, as far as this clone knows: others can fetch it. @throws GitError */
export const isPublished = async (top: string, commit: string): Promise<boolean> =>
  (await line(top, ["branch", "--remotes", "--contains", commit, "--format=%(refname)"])) !== "";

/** True where the repository has the commit. @throws GitError */
export const has = async (top: string, commit: string): Promise<boolean> =>
  (await git(top, ["cat-file", "-e", `${commit}^{commit}`], { answers: [1, 128] })).code === 0;

/** Sees to it that a commit is there: one that is not is fetched from the remotes. @throws GitError where none has it */
export const requireCommit = async (top: string, commit: string): Promise<void> => {
  if (await has(top, commit)) return;
  await git(top, ["fetch", "--quiet", "--all"]);
  if (await has(top, commit)) return;
  await git(top, ["fetch", "--quiet", "origin", commit]);
};

/** Returns the paths of repositories within a commit, of whose files a worktree has none. @throws GitError */
export const repositoriesIn = async (top: string, commit: string): Promise<string[]> =>
  items((await git(top, ["ls-tree", "-r", "-z", "--full-tree", commit])).stdout).flatMap((entry) =>
    entry.startsWith(REPOSITORY) ? entry.slice(entry.indexOf("\t") + 1) : [],
  );
