import { errorMessage } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import { headOf, isPublished, requireCommit } from "../worktrees/git/commit.ts";
import { treeAt } from "../worktrees/git/working-tree.ts";

/** Returns the commit that is checked out in a directory, where others can fetch it. @throws GitError */
export const publishedCommit = async (directory: string): Promise<Outcome<string>> => {
  const tree = await treeAt(directory);
  const commit = await headOf(tree);
  if (commit === undefined) return fail("there is no commit yet");
  if (await isPublished(tree, commit)) return { ok: true, value: commit };
  return fail("the commit that is checked out is on no branch of a remote, so that no other server can have it");
};

/** Says why a commit cannot be had in a directory, where it is fetched if need be; undefined where it can. */
export const commitObstacle = async (directory: string, commit: string): Promise<string | undefined> => {
  try {
    await requireCommit(await treeAt(directory), commit);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
};
