// ADR-245 in docs/decisions.md
import type { ApiTask } from "../client/api-types.ts";
import { dataFolder } from "../services/platform/data-folder.ts";
import { worktreesFolder } from "../services/worktrees/folders.ts";
import { findLeftWorktree, type LeftWorktree, NotDone, type WorktreeUse } from "../services/worktrees/left-changes.ts";
import { hasEnded } from "../task.ts";
import { CommandError, taskIdOf } from "./command.ts";
import { readStoredTask } from "./stored-tasks.ts";
import { readTasks } from "./task-source.ts";
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
  { data, terminal }: { data: string | undefined; terminal: Terminal },
): Promise<TaskWorktree> => {
  const id = taskIdOf(given);
  const read = async (to: Terminal) => {
    const { value } = await readTasks(
      { live: (client) => client.task(id), stored: (journals) => readStoredTask(journals, id) },
      { data, terminal: to },
    );
    return value;
  };
  const task = await read(terminal);
  const find = async () => findLeftWorktree(worktreesFolder(data ?? dataFolder()), task, dateTime);
  const left = await orRefuse(find());
  // Where it was read from has been said.
  const quiet: Terminal = { ...terminal, note: () => undefined };
  return { task, left, use: { isAtWork: async () => !hasEnded(await read(quiet)), now: Date.now } };
};
