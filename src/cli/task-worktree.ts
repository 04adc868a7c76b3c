import type { ApiTask } from "../client/api-types.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { worktreesFolder } from "../services/worktrees/folders.ts";
import { findLeftWorktree, type LeftWorktree, NotDone, type WorktreeUse } from "../services/worktrees/left-changes.ts";
import { CommandError, taskIdOf } from "./command.ts";
import { readLiveTasks, readTask, type Source } from "./task-source.ts";
import { dateTime, type Terminal } from "./terminal.ts";

/** The worktree of a task that has ended, and what its use depends on. */
export interface TaskWorktree {
  task: ApiTask;
  left: LeftWorktree;
  use: WorktreeUse;
}

/** Returns what was done. @throws CommandError with the reason why it was not, and `after` */
export const orRefuse = async <T>(asked: Promise<T>, after = ""): Promise<T> => {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof NotDone ? new CommandError(`${error.message}${after}`) : error;
  }
};

/**
 * Finds the worktree of the task with that id, or whose id begins with it.
 * @throws CommandError when the task has none of its own or has not ended, or the worktree is gone
 */
export const findWorktree = async (
  given: string,
  use: "apply" | "discard",
  { data, terminal }: Source,
): Promise<TaskWorktree> => {
  const { task } = await readTask(taskIdOf(given), { data, terminal });
  const find = async () => findLeftWorktree(worktreesFolder(data ?? dataFolder()), task, dateTime, use);
  const left = await orRefuse(find());
  // Where it was read from has been said.
  const quiet: Terminal = { ...terminal, note: () => undefined };
  const isAtWork = async () =>
    (await readLiveTasks({ data, terminal: quiet })).some(({ worktree }) => worktree?.id === task.worktree?.id);
  return { task, left, use: { isAtWork, now: Date.now } };
};
