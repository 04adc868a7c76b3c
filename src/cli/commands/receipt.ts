import type { ApiTask } from "../../client/api-types.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { formatUsage } from "../../services/text/amounts.ts";
import { receiptLines } from "../../services/text/receipt-text.ts";
import { hasEnded } from "../../task.ts";
import {
  type CommandContext,
  CommandError,
  command,
  examples,
  named,
  printJson,
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import { readTask } from "../read-tasks.ts";
import { stateCell } from "../task-table.ts";
import type { Terminal } from "../terminal.ts";

const whyNone = (task: ApiTask): string =>
  hasEnded(task)
    ? `Task ${named(task)} has no receipt: an earlier version supervised its last run, or what the run did was never read.`
    : `Task ${named(task)} has no receipt yet: it is written when its run ends.`;

const show = (task: ApiTask, receipt: NonNullable<ApiTask["receipt"]>, terminal: Terminal) => {
  const { text, style } = stateCell(task);
  const run = receipt.run === 0 ? "its first run" : `resume #${receipt.run}`;
  const used = formatUsage(receipt);
  terminal.print(
    terminal.style("bold", toSingleLine(task.description)),
    `${toSingleLine(task.sessionID)}  ${terminal.style(style, text)}`,
    "",
    `What was observed of ${run}:`,
    ...[...receiptLines(receipt), ...(used === undefined ? [] : [`Used: ${used}`])].flatMap((line) =>
      wrap(line, terminal.columns - 2).map((part) => `  ${part}`),
    ),
  );
};

/** `opencode-taskchart receipt`: shows what was observed of a task's newest run. */
export const receiptCommand = ({ terminal }: CommandContext) =>
  command(
    "receipt",
    "show what a task was seen to do: tool calls, files, commands, tests",
    "Show what was observed of the newest run of a task, whatever its agent says of it: tool calls, files, commands with their exit codes, tests, time and cost.",
  )
    .argument("<task-id>", TASK_ID)
    .addHelpText(
      "after",
      `\nWithout a running OpenCode the task is read from the task database.\n${examples(["receipt 4f5c9a", "did it really run the tests?"])}`,
    )
    .action(async (given, { json, data }) => {
      const { task } = await readTask(taskIdOf(given), { data, terminal });
      if (!task.receipt) throw new CommandError(whyNone(task));
      if (json) return printJson(terminal, task.receipt);
      show(task, task.receipt, terminal);
    });
