// A person applies a task's changes, all of them or nothing: docs/decisions/245-a-person-applies-changes.md
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { nameOf } from "../../services/text/own-text.ts";
import {
  attemptOf,
  changedFile,
  changesSummary,
  conflictLines,
  cutOffSentence,
  leftOutLines,
} from "../../services/text/worktree-text.ts";
import type { LeftChanges } from "../../services/worktrees/left-changes.ts";
import {
  type CommandContext,
  CommandError,
  command,
  EXIT,
  examples,
  named,
  printJson,
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import type { Source } from "../task-source.ts";
import type { Style, Terminal } from "../terminal.ts";
import { TASK_IDS } from "./many-tasks.ts";

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

/** Says what a task changed in a tree of files; first what became of an attempt to apply it that was cut off. */
const changeLines = (
  task: Parameters<typeof named>[0],
  where: string,
  { files, leftOut, cutOff }: Pick<LeftChanges, "files" | "leftOut" | "cutOff">,
): string[] => [
  ...(cutOff ? [cutOffSentence(cutOff, cutOff.tree)] : []),
  `Task ${named(task)}: ${changesSummary(files)} in ${where}.`,
  ...files.map((file) => `  ${changedFile(file)}`),
  ...leftOutLines(leftOut),
];

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
      const { patch, ...changes } = await readPatch(left, use);
      const { files, leftOut, cutOff } = changes;
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
        ...changeLines(task, "its worktree", changes),
        "",
        ...String(patch ?? "")
          .trimEnd()
          .split("\n")
          .map((line) => styledLine(line, terminal)),
      ]);
    });

/** Returns the ids of the tasks that are meant, in the order in which they are dealt with: that of their launch in a batch. */
const chosenIds = async (ids: readonly string[], batch: string | undefined, source: Source): Promise<string[]> => {
  if (ids.length > 0 === (batch !== undefined)) throw new CommandError("Give ids of tasks, or --batch: one of them.");
  if (batch === undefined) return [...new Set(ids)];
  const { undecidedTasks } = await import("../task-worktree.ts");
  const tasks = await undecidedTasks(batch, source);
  if (tasks.length === 0)
    throw new CommandError(`No task of batch ${toSingleLine(batch)} has changes to decide about.`);
  return tasks.map(({ sessionID }) => sessionID);
};

export const applyCommand = ({ terminal, end }: CommandContext) =>
  command("apply", "take what tasks changed in their worktrees into your files")
    .argument("[task-ids...]", TASK_IDS)
    .option("--batch <id>", "all of this batch that have ended, in the order of their launch")
    .option("--in <folder>", "a folder in the tree to change (default: the current one)")
    .addHelpText(
      "after",
      `
What changed in both since a task began is merged as git merges branches. Where that is not possible, nothing of that task is
changed, what both sides have is shown, and those after it are left as they are. What you have staged stays staged. The
worktree goes then. OpenCode need not be running.
${examples(["apply 4f5c9a", "take all that the task changed"], ["apply 4f5c9a 77ab01", "one after the other, up to the first conflict"])}`,
    )
    .action(async (given, { batch, in: folder = process.cwd(), json, data }) => {
      const { applyWorktree, findWorktree, topOf } = await import("../task-worktree.ts");
      const ids = await chosenIds(given, batch, { data, terminal });
      const isOne = batch === undefined && given.length === 1;
      const done: object[] = [];
      const printDone = () => printJson(terminal, isOne ? done[0] : done);
      /** Names the tasks after one that failed: they were not tried. */
      const rest = (id: string): string => {
        const later = ids.slice(ids.indexOf(id) + 1).map((other) => nameOf(taskIdOf(other)));
        return later.length === 0 ? "" : `\nNot tried after that: ${later.join(", ")}.`;
      };
      for (const id of ids) {
        try {
          const { task, left, use } = await findWorktree(id, "apply", { data, terminal });
          const taskId = task.sessionID;
          const tree = await topOf(folder, task, left);
          const applied = await applyWorktree(left, tree, use);
          if ("conflicts" in applied) {
            const { message, conflicts } = applied;
            done.push({ taskId, tree, conflicts });
            const about = { id: taskId, worktree: left.paths.tree };
            if (!json) throw new CommandError(conflictLines(message, conflicts, about).join("\n"));
            printDone();
            return end(EXIT.failed);
          }
          const { files, leftOut, cutOff, stays } = applied;
          done.push({ taskId, tree, files, leftOut, cutOff: cutOff && attemptOf(cutOff) });
          if (json) continue;
          terminal.print(
            ...changeLines(task, toSingleLine(tree), applied),
            ...(stays === undefined ? [] : [`The worktree stays: ${stays}.`]),
          );
        } catch (error) {
          if (json && done.length > 0) printDone();
          throw error instanceof CommandError ? new CommandError(`${error.message}${rest(id)}`, error.code) : error;
        }
      }
      if (json) printDone();
    });

export const discardCommand = ({ terminal, end }: CommandContext) =>
  command("discard", "remove worktrees of tasks with what they changed there")
    .argument("[task-ids...]", TASK_IDS)
    .option("--batch <id>", "all of this batch that have ended")
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      `
Says what is in them, and asks once, unless the input or the output is not a terminal. A patch of each stays until its task is
cleared. OpenCode need not be running.
${examples(["discard 4f5c9a", "remove what the task changed"])}`,
    )
    .action(async (given, { batch, yes = false, json, data }) => {
      const { discardWorktree, findWorktree, readWorktree } = await import("../task-worktree.ts");
      const ids = await chosenIds(given, batch, { data, terminal });
      const isOne = batch === undefined && given.length === 1;
      const found = [];
      for (const id of ids) found.push(await findWorktree(id, "discard", { data, terminal }));
      if (!yes && !json && terminal.isInteractive) {
        for (const { task, left, use } of found) {
          terminal.print(...changeLines(task, "its worktree", await readWorktree(left, use)));
        }
        if (!(await terminal.confirm(isOne ? "Discard it? [y/N] " : `Discard all ${found.length}? [y/N] `))) {
          terminal.print("Nothing was removed.");
          return end(EXIT.failed);
        }
      }
      const done = [];
      for (const { task, left, use } of found) {
        const { files, cutOff, stays } = await discardWorktree(left, use);
        const { patch } = left.paths;
        done.push({ taskId: task.sessionID, files, patch, cutOff: cutOff && attemptOf(cutOff) });
        if (json) continue;
        if (cutOff) terminal.print(cutOffSentence(cutOff, cutOff.tree));
        terminal.print(
          stays === undefined
            ? `The worktree of task ${named(task)} is removed. Its patch is still in ${patch}`
            : `The worktree of task ${named(task)} stays: ${stays}.`,
        );
      }
      if (json) printJson(terminal, isOne ? done[0] : done);
    });
