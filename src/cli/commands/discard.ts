import {
  attemptOf,
  changedFile,
  changesSummary,
  cutOffSentence,
  leftOutLines,
} from "../../services/text/worktree-text.ts";
import { type CommandContext, command, EXIT, examples, named, printJson, TASK_ID } from "../command.ts";

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
