import type { ApiTask } from "../../client/api-types.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { formatUsage, formatWakes, shortTime } from "../../services/text/amounts.ts";
import { instructionsSummary, missedSentences } from "../../services/text/instruction-text.ts";
import { modelName, otherServer } from "../../services/text/model-and-server.ts";
import { overlapSummary } from "../../services/text/overlap-text.ts";
import { receiptLines, receiptSummary, whyIncomplete } from "../../services/text/result-text.ts";
import { runTime } from "../../services/text/task-state.ts";
import { hasEnded, missedIn, type WakeCosts } from "../../task.ts";
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
import { readTask } from "../task-source.ts";
import { stateCell } from "../task-table.ts";
import { count, dateTime, resumedText, type Terminal } from "../terminal.ts";
import { answerLines, whyLine } from "./why.ts";

/** Lines of a text that are shown; `--full` shows all. */
const SHOWN_LINES = 8;

const LABEL = "started ".length;

const textLines = (text: string, columns: number, isFull: boolean): string[] => {
  const lines = text
    .trim()
    .split("\n")
    .flatMap((line) => wrap(line.trimEnd(), columns));
  const left = lines.length - SHOWN_LINES;
  return isFull || left <= 1 ? lines : [...lines.slice(0, SHOWN_LINES), `… ${left} more lines: --full shows them`];
};

const usageText = (task: ApiTask): string | undefined => {
  const own = formatUsage(task.progress);
  const all = formatUsage(task.usage);
  return all === undefined || task.childTaskIds.length === 0 || all === own
    ? all
    : `${all}, with its subtasks; ${own ?? "nothing"} itself`;
};

/** The line is about the agent that launched the task, which `used` is not. */
const wakesText = (costs: WakeCosts | undefined): string | undefined => {
  const text = formatWakes(costs);
  return text && `${text}; of the agent that launched it`;
};

const toolsText = ({ progress: { toolCalls, toolCallsByName, lastTools } }: ApiTask): string | undefined => {
  if (toolCalls === 0) return undefined;
  const byName = Object.entries(toolCallsByName)
    .sort(([, one], [, other]) => other - one)
    .map(([name, calls]) => `${name} ${calls}`);
  const last = lastTools.at(-1);
  return `${count(toolCalls, "call")}: ${byName.join(", ")}${last ? `; last ${last}` : ""}`;
};

/** Returns what is shown of a task: labels, each with the lines beside it. */
const fieldsOf = (
  task: ApiTask,
  isLive: boolean,
  isFull: boolean,
  columns: number,
): [label: string, lines: string[]][] => {
  const fields: [string, string[]][] = [];
  const line = (label: string, value: string | undefined) => {
    if (value !== undefined) fields.push([label, wrap(toSingleLine(value), columns)]);
  };
  const text = (label: string, value: string | undefined) => {
    if (value) fields.push([label, textLines(value, columns, isFull)]);
  };
  if (isLive && !hasEnded(task)) {
    line("why", whyLine(task, Date.now()));
    fields.push(["answer", answerLines(task)]);
  }
  text("error", task.error && `${task.error.kind}: ${task.error.message}`);
  line("agent", `${task.agent}${task.model ? `, ${modelName(task.model)}` : ""}${task.isForked ? ", a fork" : ""}`);
  const server = otherServer(task);
  line("server", server && `${server}, another one of the fleet`);
  line("started", `${dateTime(Date.parse(task.startedAt))} by ${task.author}${resumedText(task.resumeCount)}`);
  const time = shortTime(runTime(task, Date.now()));
  line(hasEnded(task) ? "took" : "runs for", isLive || hasEnded(task) ? time : `${time}, if it still runs`);
  line("used", usageText(task));
  line("wakes", wakesText(task.progress.wakeCosts));
  line("tools", toolsText(task));
  line("observed", task.receipt && receiptSummary(task.receipt).replace(/^Observed: /, ""));
  const shared = overlapSummary(task.progress.overlaps, task.parentSessionID);
  line("shared", shared?.replace(/^Files shared with other agents: /, ""));
  line("parent", task.parentTaskId === undefined ? task.parentSessionID : `task ${task.parentTaskId}`);
  line("batch", task.batchId);
  line("subtasks", task.childTaskIds.length > 0 ? task.childTaskIds.join(" ") : undefined);
  line("folder", task.directory);
  line("worktree", task.worktree?.directory);
  text("prompt", task.prompt);
  line("told", instructionsSummary(task));
  line("missed", missedSentences(missedIn(task), task.error));
  const incomplete = whyIncomplete(task);
  line("note", incomplete && `The result ${incomplete}.`);
  text("result", task.result);
  // Not the result: what was written last before a message without text.
  text("earlier", task.earlierText);
  return fields;
};

const headLines = (task: ApiTask, { style }: Terminal): string[] => {
  const state = stateCell(task);
  return [
    style("bold", toSingleLine(task.description)),
    `${toSingleLine(task.sessionID)}  ${style(state.style, state.text)}`,
    "",
  ];
};

const show = (task: ApiTask, isLive: boolean, isFull: boolean, terminal: Terminal) => {
  const columns = Math.max(20, terminal.columns - LABEL - 2);
  terminal.print(
    ...headLines(task, terminal),
    ...fieldsOf(task, isLive, isFull, columns).flatMap(([label, lines]) =>
      lines.map((line, index) =>
        index > 0 && line === "" ? "" : `${terminal.style("dim", (index === 0 ? label : "").padEnd(LABEL))}  ${line}`,
      ),
    ),
  );
};

export const showCommand = ({ terminal }: CommandContext) =>
  command("show", "show a task's state, what it used, its prompt and its result")
    .argument("<task-id>", TASK_ID)
    .option("--full", "show prompt and result whole")
    .addHelpText(
      "after",
      `\nWithout a running OpenCode the task is read from the task database.\n${examples(["show 4f5c9a --full", "a task, with all of its result"])}`,
    )
    .action(async (given, { json, data, full = false }) => {
      const { task, isLive } = await readTask(taskIdOf(given), { data, terminal });
      if (json) return printJson(terminal, task);
      show(task, isLive, full, terminal);
    });

const whyNone = (task: ApiTask): string =>
  hasEnded(task)
    ? `Task ${named(task)} has no receipt: an earlier version supervised its last run, or what the run did was never read.`
    : `Task ${named(task)} has no receipt yet: it is written when its run ends.`;

const printReceipt = (task: ApiTask, receipt: NonNullable<ApiTask["receipt"]>, terminal: Terminal) => {
  const run = receipt.run === 0 ? "its first run" : `${task.isRetry ? "retry" : "resume"} #${receipt.run}`;
  const used = formatUsage(receipt);
  terminal.print(
    ...headLines(task, terminal),
    `What was observed of ${run}:`,
    ...[...receiptLines(receipt), ...(used === undefined ? [] : [`Used: ${used}`])].flatMap((line) =>
      wrap(line, terminal.columns - 2).map((part) => `  ${part}`),
    ),
  );
};

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
      printReceipt(task, task.receipt, terminal);
    });
