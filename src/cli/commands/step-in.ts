import type { ApiTask } from "../../client/api-types.ts";
import { descendantsOf } from "../../client/status-api-client.ts";
import { cut, wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { runTime } from "../../services/text/task-state.ts";
import { hasEnded } from "../../task.ts";
import {
  type CommandContext,
  CommandError,
  command,
  EXIT,
  examples,
  named,
  printJson,
  promptOf,
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import { liveTasks, openClient, received } from "../open-api.ts";
import { stateCell } from "../task-table.ts";
import { count } from "../terminal.ts";

/** `opencode-taskchart steer`: gives a running task a further instruction. */
export const steerCommand = ({ terminal }: CommandContext) =>
  command("steer", "give a running task a further instruction")
    .argument("<task-id>", TASK_ID)
    .argument("<instruction...>", "several words need no quotes; put -- before one that starts with -")
    .addHelpText(
      "after",
      `
Its agent sees the instruction at its next step, and goes on with its task. OpenCode must be running.
${examples(["steer 4f5c9a only the tests, please", "change the course of a task"])}`,
    )
    .action(async (id, words, { json, data }) => {
      const task = received(await openClient(data).steer(taskIdOf(id), promptOf(words, "instruction")));
      if (json) return printJson(terminal, task);
      terminal.print(`Task ${named(task)} was given the instruction: its agent sees it at its next step.`);
    });

/** `opencode-taskchart resume`: sends a completed task a follow-up prompt. */
export const resumeCommand = ({ terminal }: CommandContext) =>
  command("resume", "send a completed task a follow-up prompt")
    .argument("<task-id>", TASK_ID)
    .argument("<prompt...>", "several words need no quotes; put -- before one that starts with -")
    .addHelpText(
      "after",
      `
The task goes on in its conversation, and its result is delivered as the first one was. OpenCode must be running.
${examples(["resume 4f5c9a now write the tests", "have it do more"])}`,
    )
    .action(async (id, words, { json, data }) => {
      const task = received(await openClient(data).resume(taskIdOf(id), promptOf(words, "prompt")));
      if (json) return printJson(terminal, task);
      terminal.print(`Task ${named(task)} goes on with that prompt.`);
    });

const line = (task: ApiTask): string =>
  `${named(task)} (${toSingleLine(task.agent)}, ${stateCell(task).text} for ${shortTime(runTime(task, Date.now()))})`;

/** `opencode-taskchart cancel`: stops a task. */
export const cancelCommand = ({ terminal, end }: CommandContext) =>
  command("cancel", "stop a task, and the tasks that it launched")
    .argument("<task-id>", TASK_ID)
    .option("-y, --yes", "do not ask")
    .addHelpText(
      "after",
      `
Says what else stops, and asks, unless the input or the output is not a terminal. OpenCode must be running.
${examples(["cancel 4f5c9a", "stop a task"])}`,
    )
    .action(async (given, { yes = false, json, data }) => {
      const client = openClient(data);
      const task = received(await client.task(taskIdOf(given)));
      if (hasEnded(task)) {
        throw new CommandError(`Task ${named(task)} has already ended: it is ${toSingleLine(task.status)}.`);
      }
      const subtasks = descendantsOf(task.sessionID, await liveTasks(client));
      if (!yes && !json && terminal.isInteractive) {
        const stops = `This stops ${line(task)}${subtasks.length > 0 ? ", and its subtasks:" : "."}`;
        terminal.print(
          ...wrap(stops, terminal.columns),
          ...subtasks.map((each) => cut(`  ${line(each)}`, terminal.columns)),
        );
        if (!(await terminal.confirm("Stop it? [y/N] "))) {
          terminal.print("Nothing was stopped.");
          return end(EXIT.failed);
        }
      }
      const stopped = received(await client.cancel(task.sessionID));
      if (json) return printJson(terminal, stopped);
      const others = subtasks.length === 0 ? "" : `, and with it ${count(subtasks.length, "subtask")}`;
      terminal.print(`Task ${named(stopped)} is ${toSingleLine(stopped.status)}${others}.`);
    });
