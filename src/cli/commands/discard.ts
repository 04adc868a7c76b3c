import { changedFile, changesSummary } from "../../services/text/changed-files.ts";
import { discardLeftChanges, readLeftChanges } from "../../services/worktrees/left-changes.ts";
import { type CommandContext, command, EXIT, examples, named, printJson, TASK_ID } from "../command.ts";
import { findWorktree, orRefuse } from "../task-worktree.ts";

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
      const { task, left, use } = await findWorktree(given, "discard", { data, terminal });
      const nothing = " Nothing was removed.";
      if (!yes && !json && terminal.isInteractive) {
        const files = await orRefuse(readLeftChanges(left), nothing);
        terminal.print(
          `Task ${named(task)}: ${changesSummary(files)} in its worktree.`,
          ...files.map((file) => `  ${changedFile(file)}`),
        );
        if (!(await terminal.confirm("Discard it? [y/N] "))) {
          terminal.print("Nothing was removed.");
          return end(EXIT.failed);
        }
      }
      const { files, isRemoved } = await orRefuse(discardLeftChanges(left, use), nothing);
      const { patch } = left.paths;
      if (json) return printJson(terminal, { taskId: task.sessionID, files, patch });
      if (!isRemoved) return terminal.print(`The worktree of task ${named(task)} stays: an agent works in it again.`);
      terminal.print(`The worktree of task ${named(task)} is removed. Its patch is still in ${patch}`);
    });
