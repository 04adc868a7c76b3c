import { pathsOf, type WorktreePaths } from "../../src/services/worktrees/folders.ts";
import { makeWorktree } from "../../src/services/worktrees/make-worktree.ts";
import type { WorktreeRecord } from "../../src/services/worktrees/record.ts";
import type { Worktree } from "../../src/task.ts";
import { type Repository, repositoryAt } from "./repository.ts";

/** A worktree as a launch makes it for a task, with its files and what is known of it. */
export interface TaskWorktree {
  paths: WorktreePaths;
  record: WorktreeRecord;
  tree: Repository;
  worktree: Worktree;
}

/**
 * Makes the worktree of a task from a project.
 * @param root the folder of all worktrees
 */
export const makeTaskWorktree = async (
  project: Repository,
  root: string,
  id = "w1",
  taskId = "ses_1",
): Promise<TaskWorktree> => {
  const paths = pathsOf(root, id);
  const { signal } = new AbortController();
  const plan = { paths, directory: project.top, project: project.top, taskId, setup: undefined, now: 0, signal };
  const record = await makeWorktree(plan);
  const worktree = { id, directory: paths.tree, isShared: false };
  return { paths, record, tree: repositoryAt(paths.tree), worktree };
};
