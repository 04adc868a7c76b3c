// A person applies a task's changes, all of them or nothing: docs/decisions/245-a-person-applies-changes.md
import { toSingleLine } from "../../services/platform/plain-text.ts";
import {
  attemptOf,
  changedFile,
  changesSummary,
  cutOffSentence,
  leftOutLines,
} from "../../services/text/worktree-text.ts";
import type { NotDone } from "../../services/worktrees/left-changes.ts";
import { type CommandContext, CommandError, command, EXIT, examples, named, printJson, TASK_ID } from "../command.ts";
import type { TaskWorktree } from "../task-worktree.ts";

/** Returns the top of the tree that a folder lies in. @throws CommandError when it is of another repository */
const topOf = async (folder: string, { task, left: { record } }: TaskWorktree): Promise<string> => {
  const ofOther = `${toSingleLine(folder)} is no tree of the repository in which task ${named(task)} worked. Run this in ${toSingleLine(record.source)}, or name it with --in`;
  const { treeAt } = await import("../../services/worktrees/git/working-tree.ts");
  const { askGit } = await import("../../services/worktrees/left-changes.ts");
  const { orRefuse } = await import("../task-worktree.ts");
  const [here, there] = await orRefuse(askGit(ofOther, Promise.all([treeAt(folder), treeAt(record.source)])));
  if (here.commonDir !== there.commonDir) throw new CommandError(`${ofOther}.`);
  return here.top;
};

const conflictLines = ({ conflicts }: NotDone): string[] =>
  conflicts.map(({ path, kind }) => `  ${toSingleLine(path)} (${kind})`);

/** `opencode-taskchart apply`: takes what a task changed in its worktree into the tree of the current folder. */
export const applyCommand = ({ terminal, end }: CommandContext) =>
  command("apply", "take what a task changed in its worktree into your files")
    .argument("<task-id>", TASK_ID)
    .option("--in <folder>", "a folder in the tree to change (default: the current one)")
    .addHelpText(
      "after",
      `
What changed in both since the task began is merged as git merges branches. Where that is not possible, nothing is changed,
and the files are named. What you have staged stays staged. The worktree goes then. OpenCode need not be running.
${examples(["apply 4f5c9a", "take all that the task changed"])}`,
    )
    .action(async (given, { in: folder = process.cwd(), json, data }) => {
      const { applyLeftChanges, NotDone } = await import("../../services/worktrees/left-changes.ts");
      const { findWorktree, orRefuse } = await import("../task-worktree.ts");
      const found = await findWorktree(given, "apply", { data, terminal });
      const { task, left, use } = found;
      const tree = await topOf(folder, found);
      const applied = await orRefuse(
        applyLeftChanges(left, tree, use).catch((error) => {
          if (error instanceof NotDone && error.conflicts.length > 0) return error;
          throw error;
        }),
      );
      if (applied instanceof NotDone) {
        if (!json) {
          throw new CommandError(
            [`${applied.message}.`, ...conflictLines(applied), `The worktree stays: ${left.paths.tree}`].join("\n"),
          );
        }
        printJson(terminal, { taskId: task.sessionID, tree, conflicts: applied.conflicts });
        return end(EXIT.failed);
      }
      const { files, leftOut, cutOff, stays } = applied;
      if (json)
        return printJson(terminal, {
          taskId: task.sessionID,
          tree,
          files,
          leftOut,
          cutOff: cutOff && attemptOf(cutOff),
        });
      terminal.print(
        ...(cutOff ? [cutOffSentence(cutOff, cutOff.tree)] : []),
        `Task ${named(task)}: ${changesSummary(files)} in ${toSingleLine(tree)}.`,
        ...files.map((file) => `  ${changedFile(file)}`),
        ...leftOutLines(leftOut),
        ...(stays === undefined ? [] : [`The worktree stays: ${stays}.`]),
      );
    });

/** `opencode-taskchart discard`: removes a task's worktree with what it changed there. */
export const discardCommand = ({ terminal, end }: CommandContext) =>
  command("discard", "remove a task's worktree with what it changed there")
    .argument("<task-id>", TASK_ID)
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      `
Says what is in it, and asks, unless the input or the output is not a terminal. A patch of it stays until the task is cleared.
OpenCode need not be running.
${examples(["discard 4f5c9a", "remove what the task changed"])}`,
    )
    .action(async (given, { yes = false, json, data }) => {
      const { discardLeftChanges, readLeftChanges } = await import("../../services/worktrees/left-changes.ts");
      const { findWorktree, orRefuse } = await import("../task-worktree.ts");
      const { task, left, use } = await findWorktree(given, "discard", { data, terminal });
      const nothing = " Nothing was removed.";
      if (!yes && !json && terminal.isInteractive) {
        const { files, leftOut, cutOff } = await orRefuse(readLeftChanges(left, use.now), nothing);
        terminal.print(
          ...(cutOff ? [cutOffSentence(cutOff, cutOff.tree)] : []),
          `Task ${named(task)}: ${changesSummary(files)} in its worktree.`,
          ...files.map((file) => `  ${changedFile(file)}`),
          ...leftOutLines(leftOut),
        );
        if (!(await terminal.confirm("Discard it? [y/N] "))) {
          terminal.print("Nothing was removed.");
          return end(EXIT.failed);
        }
      }
      const { files, cutOff, stays } = await orRefuse(discardLeftChanges(left, use), nothing);
      const { patch } = left.paths;
      if (json)
        return printJson(terminal, {
          taskId: task.sessionID,
          files,
          patch,
          cutOff: cutOff && attemptOf(cutOff),
        });
      if (cutOff) terminal.print(cutOffSentence(cutOff, cutOff.tree));
      if (stays !== undefined) return terminal.print(`The worktree of task ${named(task)} stays: ${stays}.`);
      terminal.print(`The worktree of task ${named(task)} is removed. Its patch is still in ${patch}`);
    });
