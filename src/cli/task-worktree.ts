// ADR-245 in docs/decisions.md
import type { ApiResult } from "../client/api-result.ts";
import type { ApiTask } from "../client/api-types.ts";
import type { StatusApiClient } from "../client/status-api-client.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { worktreesFolder } from "../services/worktrees/folders.ts";
import { findLeftWorktree, type LeftWorktree, NotDone, type WorktreeUse } from "../services/worktrees/left-changes.ts";
import { CommandError, taskIdOf } from "./command.ts";
import { readStoredTask, readStoredTasks } from "./stored-tasks.ts";
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
  use: "apply" | "discard",
  { data, terminal }: { data: string | undefined; terminal: Terminal },
): Promise<TaskWorktree> => {
  const id = taskIdOf(given);
  const read = async () => {
    const { value } = await readTasks(
      { live: (client) => client.task(id), stored: (journals) => readStoredTask(journals, id) },
      { data, terminal },
    );
    return value;
  };
  const task = await read();
  const find = async () => findLeftWorktree(worktreesFolder(data ?? dataFolder()), task, dateTime, use);
  const left = await orRefuse(find());
  // Where it was read from has been said.
  const quiet: Terminal = { ...terminal, note: () => undefined };
  const isAtWork = async () => {
    const { value: tasks } = await readTasks(
      { live: liveTasks, stored: (journals) => readStoredTasks(journals, {}, 0) },
      { data, terminal: quiet },
    );
    return tasks.some(({ worktree }) => worktree?.id === task.worktree?.id);
  };
  return { task, left, use: { isAtWork, now: Date.now } };
};

/** The tasks that have not ended. */
const liveTasks = async (client: StatusApiClient): Promise<ApiResult<ApiTask[]>> => {
  const [running, resumed] = await Promise.all([
    client.allTasks({ status: "running" }),
    client.allTasks({ status: "resumed" }),
  ]);
  if (!running.ok) return running;
  return resumed.ok ? { ok: true, value: [...running.value, ...resumed.value] } : resumed;
};
