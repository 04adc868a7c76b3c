import { changedFile, changesSummary } from "../../services/text/worktree.ts";
import { changesBetween, writePatch } from "../../services/worktrees/git/changes.ts";
import { takeSnapshot } from "../../services/worktrees/git/snapshot.ts";
import { dropWorktree } from "../../services/worktrees/make-worktree.ts";
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
      const { task, paths, record, base } = await findWorktree(given, { data, terminal });
      const read = async () => {
        const { commit } = await takeSnapshot(paths.tree);
        await writePatch(paths.tree, base, commit, paths.patch);
        return changesBetween(paths.tree, base, commit);
      };
      const files = await orRefuse(`What task ${named(task)} changed cannot be read, so nothing was removed`, read());
      if (!yes && !json && terminal.isInteractive) {
        terminal.print(
          `Task ${named(task)}: ${changesSummary(files)} in its worktree.`,
          ...files.map((file) => `  ${changedFile(file)}`),
        );
        if (!(await terminal.confirm("Discard it? [y/N] "))) {
          terminal.print("Nothing was removed.");
          return end(EXIT.failed);
        }
      }
      await dropWorktree(paths, record, { why: "discarded", at: Date.now() });
      if (json) return printJson(terminal, { taskId: task.sessionID, files, patch: paths.patch });
      terminal.print(`The worktree of task ${named(task)} is removed. Its patch is still in ${paths.patch}`);
    });
