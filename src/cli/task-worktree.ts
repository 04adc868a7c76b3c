// ADR-245 in docs/decisions.md
import type { ApiTask } from "../client/api-types.ts";
import { dataFolder } from "../services/platform/data-folder.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { isThere, pathsOf, type WorktreePaths, worktreesFolder } from "../services/worktrees/folders.ts";
import { GitError } from "../services/worktrees/git/git.ts";
import { readRecord, type WorktreeRecord } from "../services/worktrees/record.ts";
import { hasEnded } from "../task.ts";
import { CommandError, named, taskIdOf } from "./command.ts";
import { readStoredTask } from "./stored-tasks.ts";
import { readTasks } from "./task-source.ts";
import { dateTime, type Terminal } from "./terminal.ts";

/** The worktree of a task that has ended. */
export interface TaskWorktree {
  task: ApiTask;
  paths: WorktreePaths;
  record: WorktreeRecord;
  /** The commit that it began with. */
  base: string;
}

const GONE = {
  clean: "nothing was changed in it",
  applied: "its changes were applied",
  discarded: "its changes were discarded",
  expired: "it was kept for the time that the option worktree.keep gives it",
} as const;

/** Says when a worktree went and why, and where the patch still is. */
const whyGone = (task: ApiTask, { patch }: WorktreePaths, { why, at }: NonNullable<WorktreeRecord["gone"]>): string => {
  const went = `Task ${named(task)} has no worktree any more, since ${dateTime(at)}: ${GONE[why]}.`;
  return why === "discarded" || why === "expired" ? `${went} Its patch is still in ${patch}.` : went;
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
  const { value: task } = await readTasks(
    { live: (client) => client.task(id), stored: (journals) => readStoredTask(journals, id) },
    { data, terminal },
  );
  const { worktree } = task;
  if (!worktree) throw new CommandError(`Task ${named(task)} worked in ${toSingleLine(task.directory)} itself.`);
  if (worktree.isShared) {
    const above = task.parentTaskId === undefined ? "another task" : `task ${toSingleLine(task.parentTaskId)}`;
    throw new CommandError(`Task ${named(task)} worked in the worktree of ${above}: name that one.`);
  }
  if (!hasEnded(task)) throw new CommandError(`Task ${named(task)} still runs. Wait for its end, or cancel it.`);
  const paths = pathsOf(worktreesFolder(data ?? dataFolder()), worktree.id);
  const record = readRecord(paths);
  if (record?.gone) throw new CommandError(whyGone(task, paths, record.gone));
  if (record?.base === undefined || !isThere(paths)) {
    throw new CommandError(`The worktree of task ${named(task)} is gone: there is no ${paths.tree}.`);
  }
  return { task, paths, record, base: record.base };
};

/** Returns what git answered. @throws CommandError with git's own words after `what` when git failed */
export const orRefuse = async <T>(what: string, asked: Promise<T>): Promise<T> => {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GitError) throw new CommandError(`${what}: ${toSingleLine(error.message)}.`);
    throw error;
  }
};
