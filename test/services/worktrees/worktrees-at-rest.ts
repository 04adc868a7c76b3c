import { pathsOf } from "../../../src/services/worktrees/folders.ts";
import { findLeftWorktree } from "../../../src/services/worktrees/left-changes.ts";
import { createWorktrees, type Worktrees } from "../../../src/services/worktrees/worktrees.ts";
import type { Task } from "../../../src/task.ts";
import { type Repository, repositoryAt } from "../../fakes/repository.ts";

/** A host that does what it is asked, a clock for which nothing waits, and no log. */
export const AROUND = {
  host: { closeDirectory: async () => ({ ok: true, value: undefined }) as const },
  clock: { now: Date.now, after: () => () => undefined },
  log: { info: () => undefined, error: () => undefined },
};

/** What the use of a worktree depends on, where no agent works in it. */
export const AT_REST = { isAtWork: async () => false, now: Date.now };

export const { signal } = new AbortController();

/** The worktrees of an engine whose tasks have all ended. */
export const worktreesAtRest = (root: string, setup?: string): Worktrees =>
  createWorktrees({
    ...AROUND,
    options: { root, agents: [], setup, keep: 0 },
    newId: () => "w1",
    store: { get: () => undefined, live: () => [] },
  });

/** The worktree of a task that has ended, in which nothing is changed yet. */
export const worktreeOfTask = async (project: Repository, root: string) => {
  const worktrees = worktreesAtRest(root);
  const made = await worktrees.make({ directory: project.top, project: project.top, signal });
  if (!made.ok) throw new Error(made.reason);
  const of = { sessionID: "ses_1", parentSessionID: "ses_p", description: "write", directory: project.top };
  const ended = { status: "completed", startedAt: new Date().toISOString(), resumeCount: 0 };
  const task = { ...of, ...ended, worktree: made.value } as Task;
  worktrees.assign(task);
  const paths = pathsOf(root, "w1");
  const left = (use?: "discard") => findLeftWorktree(root, task, String, use);
  return { project, root, paths, tree: repositoryAt(paths.tree), worktrees, task, left };
};
