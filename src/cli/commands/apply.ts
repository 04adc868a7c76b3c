// ADR-245 in docs/decisions.md
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { changedFile, changesSummary } from "../../services/text/worktree.ts";
import { applyChanges, type Conflict } from "../../services/worktrees/git/apply.ts";
import { repositoryOf, takeSnapshot, topOf } from "../../services/worktrees/git/snapshot.ts";
import { dropWorktree } from "../../services/worktrees/make-worktree.ts";
import { type CommandContext, CommandError, command, EXIT, examples, named, printJson, TASK_ID } from "../command.ts";
import { findWorktree, orRefuse, type TaskWorktree } from "../task-worktree.ts";

/** Returns the top of the tree that a folder lies in. @throws CommandError when it is of another repository */
const treeAt = async (folder: string, { task, record }: TaskWorktree): Promise<string> => {
  const ofOther = `${toSingleLine(folder)} is no tree of the repository in which task ${named(task)} worked. Run this in ${toSingleLine(record.source)}, or name it with --in`;
  const [here, there] = await orRefuse(ofOther, Promise.all([repositoryOf(folder), repositoryOf(record.source)]));
  if (here !== there) throw new CommandError(`${ofOther}.`);
  return orRefuse(ofOther, topOf(folder));
};

const conflictLines = (conflicts: readonly Conflict[]): string[] =>
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
      const found = await findWorktree(given, { data, terminal });
      const { task, paths, record, base } = found;
      const tree = await treeAt(folder, found);
      const refused = `Nothing of task ${named(task)} was applied`;
      const { commit } = await orRefuse(refused, takeSnapshot(paths.tree));
      const applied = await orRefuse(refused, applyChanges(tree, base, commit));
      if (!applied.ok) {
        if (!json) {
          throw new CommandError(
            [
              `${refused}: these files were changed in another way in ${toSingleLine(tree)}.`,
              ...conflictLines(applied.conflicts),
              `The worktree stays: ${paths.tree}`,
            ].join("\n"),
          );
        }
        printJson(terminal, { taskId: task.sessionID, tree, conflicts: applied.conflicts });
        return end(EXIT.failed);
      }
      await dropWorktree(paths, record, { why: "applied", at: Date.now() });
      if (json) return printJson(terminal, { taskId: task.sessionID, tree, files: applied.files });
      terminal.print(
        `Task ${named(task)}: ${changesSummary(applied.files)} in ${toSingleLine(tree)}.`,
        ...applied.files.map((file) => `  ${changedFile(file)}`),
      );
    });
