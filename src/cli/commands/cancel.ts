import type { ApiTask } from "../../client/api-types.ts";
import { cut, wrap } from "../../services/platform/columns.ts";
import { descendantsOf } from "../../client/status-api-client.ts";
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
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import { liveTasks, openClient, received } from "../open-api.ts";
import { stateCell } from "../task-table.ts";
import { count } from "../terminal.ts";

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
