// A person applies a task's changes, all of them or nothing: docs/decisions/245-a-person-applies-changes.md
import { toSingleLine } from "../../services/platform/plain-text.ts";
import {
  attemptOf,
  changedFile,
  changesSummary,
  cutOffSentence,
  leftOutLines,
} from "../../services/text/worktree-text.ts";
import { type CommandContext, CommandError, command, EXIT, examples, named, printJson, TASK_ID } from "../command.ts";
import type { Style, Terminal } from "../terminal.ts";

/** How the lines of a patch that begin so are shown. */
const STYLES: readonly (readonly [beginning: string, style: Style])[] = [
  ["diff ", "bold"],
  ["index ", "bold"],
  ["--- ", "bold"],
  ["+++ ", "bold"],
  ["new file", "bold"],
  ["deleted file", "bold"],
  ["@@", "cyan"],
  ["+", "green"],
  ["-", "red"],
];

const styledLine = (line: string, { style }: Terminal): string => {
  const [, chosen] = STYLES.find(([beginning]) => line.startsWith(beginning)) ?? [];
  return chosen === undefined ? line : style(chosen, line);
};

export const diffCommand = ({ terminal }: CommandContext) =>
  command("diff", "show what a task changed in its worktree, before you apply it")
    .argument("<task-id>", TASK_ID)
    .addHelpText(
      "after",
      `
In a terminal it is shown by $PAGER (default: less), into a file or a pipe it is written as git writes a patch: \`git apply\`
takes it. OpenCode need not be running.
${examples(["diff 4f5c9a", "look at what the task changed"], ["diff 4f5c9a > it.patch", "keep it as a patch"])}`,
    )
    .action(async (given, { json, data }) => {
      const { findWorktree, readPatch } = await import("../task-worktree.ts");
      const { task, left, use } = await findWorktree(given, "diff", { data, terminal });
      const { files, leftOut, cutOff, patch } = await readPatch(left, use);
      const taskId = task.sessionID;
      if (json) {
        return printJson(terminal, {
          taskId,
          files,
          leftOut,
          cutOff: cutOff && attemptOf(cutOff),
          patch: String(patch ?? ""),
        });
      }
      if (!terminal.isInteractive) {
        for (const line of leftOutLines(leftOut)) terminal.note(line);
        return patch && terminal.write(patch);
      }
      await terminal.page([
        ...(cutOff ? [cutOffSentence(cutOff, cutOff.tree)] : []),
        `Task ${named(task)}: ${changesSummary(files)} in its worktree.`,
        ...files.map((file) => `  ${changedFile(file)}`),
        ...leftOutLines(leftOut),
        "",
        ...String(patch ?? "")
          .trimEnd()
          .split("\n")
          .map((line) => styledLine(line, terminal)),
      ]);
    });

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
      const { applyWorktree, findWorktree, topOf } = await import("../task-worktree.ts");
      const { task, left, use } = await findWorktree(given, "apply", { data, terminal });
      const taskId = task.sessionID;
      const tree = await topOf(folder, task, left);
      const applied = await applyWorktree(left, tree, use);
      if ("conflicts" in applied) {
        const { message, conflicts } = applied;
        if (!json) {
          const files = conflicts.map(({ path, kind }) => `  ${toSingleLine(path)} (${kind})`);
          throw new CommandError([`${message}.`, ...files, `The worktree stays: ${left.paths.tree}`].join("\n"));
        }
        printJson(terminal, { taskId, tree, conflicts });
        return end(EXIT.failed);
      }
      const { files, leftOut, cutOff, stays } = applied;
      if (json) return printJson(terminal, { taskId, tree, files, leftOut, cutOff: cutOff && attemptOf(cutOff) });
      terminal.print(
        ...(cutOff ? [cutOffSentence(cutOff, cutOff.tree)] : []),
        `Task ${named(task)}: ${changesSummary(files)} in ${toSingleLine(tree)}.`,
        ...files.map((file) => `  ${changedFile(file)}`),
        ...leftOutLines(leftOut),
        ...(stays === undefined ? [] : [`The worktree stays: ${stays}.`]),
      );
    });

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
      const { discardWorktree, findWorktree, readWorktree } = await import("../task-worktree.ts");
      const { task, left, use } = await findWorktree(given, "discard", { data, terminal });
      if (!yes && !json && terminal.isInteractive) {
        const { files, leftOut, cutOff } = await readWorktree(left, use);
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
      const { files, cutOff, stays } = await discardWorktree(left, use);
      const { patch } = left.paths;
      if (json) {
        return printJson(terminal, { taskId: task.sessionID, files, patch, cutOff: cutOff && attemptOf(cutOff) });
      }
      if (cutOff) terminal.print(cutOffSentence(cutOff, cutOff.tree));
      if (stays !== undefined) return terminal.print(`The worktree of task ${named(task)} stays: ${stays}.`);
      terminal.print(`The worktree of task ${named(task)} is removed. Its patch is still in ${patch}`);
    });
