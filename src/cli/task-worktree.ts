import { readFile } from "node:fs/promises";
import type { ApiTask } from "../client/api-types.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { pathsOf, worktreesFolder } from "../services/worktrees/folders.ts";
import { treeAt } from "../services/worktrees/git/working-tree.ts";
import {
  applyLeftChanges,
  askGit,
  discardLeftChanges,
  findLeftWorktree,
  type LeftWorktree,
  NotDone,
  readLeftChanges,
  type WorktreeAction,
  type WorktreeUse,
} from "../services/worktrees/left-changes.ts";
import { isUndecided, readRecord } from "../services/worktrees/record.ts";
import { hasEnded } from "../task.ts";
import { CommandError, named, taskIdOf } from "./command.ts";
import { readLiveTasks, readTask, readTasks, type Source } from "./task-source.ts";
import { dateTime } from "./terminal.ts";

/** Returns what was done. @throws CommandError with the reason why it was not, and `after` */
const orRefuse = async <T>(asked: Promise<T>, after = ""): Promise<T> => {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof NotDone ? new CommandError(`${error.message}${after}`) : error;
  }
};

/**
 * Finds the worktree of the task with that id, or whose id begins with it, and what its use depends on.
 * @throws CommandError when the task has none of its own or has not ended, or the worktree is gone
 */
export const findWorktree = async (given: string, action: WorktreeAction, { data, terminal }: Source) => {
  const { task } = await readTask(taskIdOf(given), { data, terminal });
  const find = async () => findLeftWorktree(worktreesFolder(data ?? dataFolder()), task, dateTime, action);
  const left = await orRefuse(find());
  // Where it was read from has been said.
  const quiet = { ...terminal, note: () => undefined };
  const isAtWork = async () =>
    (await readLiveTasks({ data, terminal: quiet })).some(({ worktree }) => worktree?.id === task.worktree?.id);
  return { task, left, use: { isAtWork, now: Date.now } };
};

/** Returns the top of the tree that a folder lies in. @throws CommandError when it is of another repository */
export const topOf = async (folder: string, task: ApiTask, { record: { source } }: LeftWorktree): Promise<string> => {
  const ofOther = `${toSingleLine(folder)} is no tree of the repository in which task ${named(task)} worked. Run this in ${toSingleLine(source)}, or name it with --in`;
  const [here, there] = await orRefuse(askGit(ofOther, Promise.all([treeAt(folder), treeAt(source)])));
  if (here.commonDir !== there.commonDir) throw new CommandError(`${ofOther}.`);
  return here.top;
};

/** Applies the changes to a tree. Returns what was done, or what conflicts. @throws CommandError with another reason why not */
export const applyWorktree = (left: LeftWorktree, tree: string, use: WorktreeUse) =>
  orRefuse(
    applyLeftChanges(left, tree, use).catch((error) => {
      if (error instanceof NotDone && error.conflicts.length > 0) return error;
      throw error;
    }),
  );

/** Tasks of a batch that are looked at: a conversation launches 200 at most, unless an option says otherwise. */
const MOST_OF_A_BATCH = 1_000;

/** Returns the ended tasks of a batch with a worktree of their own that nobody has decided about, in the order of their launch. */
export const undecidedTasks = async (batch: string, { data, terminal }: Source): Promise<ApiTask[]> => {
  const { tasks } = await readTasks({ batch }, MOST_OF_A_BATCH, { data, terminal });
  const root = worktreesFolder(data ?? dataFolder());
  return (
    tasks
      .filter((task) => {
        const { worktree } = task;
        const record = worktree && !worktree.isShared && hasEnded(task) && readRecord(pathsOf(root, worktree.id));
        return record && isUndecided(record);
      })
      // They are listed newest first: of two that were launched in one millisecond, too.
      .toReversed()
      .toSorted((one, other) => one.startedAt.localeCompare(other.startedAt))
  );
};

const NOTHING_REMOVED = " Nothing was removed.";

export const readWorktree = (left: LeftWorktree, { now }: WorktreeUse) =>
  orRefuse(readLeftChanges(left, now), NOTHING_REMOVED);

/** Returns the patch of what was changed in the worktree, as git writes it; undefined where that is nothing. */
export const readPatch = async (left: LeftWorktree, { now }: WorktreeUse) => {
  const changes = await orRefuse(readLeftChanges(left, now));
  return { ...changes, patch: changes.files.length === 0 ? undefined : await readFile(left.paths.patch) };
};

export const discardWorktree = (left: LeftWorktree, use: WorktreeUse) =>
  orRefuse(discardLeftChanges(left, use), NOTHING_REMOVED);
