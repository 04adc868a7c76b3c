import type { ApiTask } from "../../client/api-types.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { answerLine } from "../../services/text/request-text.ts";
import { waitText } from "../../services/text/waiting-text.ts";
import { hasEnded } from "../../task.ts";
import { CALLED_AS, type CommandContext, command, examples, named, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { liveTasks, openClient, received } from "../open-api.ts";
import { byUrgency } from "../task-table.ts";
import type { Terminal } from "../terminal.ts";

/** What `--json` prints of a task. */
const reasonOf = ({ sessionID, status, state, waiting, queue, server, attention, why, error }: ApiTask) => ({
  sessionID,
  status,
  state,
  waiting,
  queue,
  server,
  attention,
  why,
  error,
});

/** Describes in a sentence what a task waits for, since when, and who or what moves it. `now` is epoch milliseconds. */
export const whyLine = (task: ApiTask, now: number): string => {
  if (task.error) return `It ended in an error: ${toSingleLine(task.error.message)}`;
  if (hasEnded(task)) return `It waits for nothing: it is ${toSingleLine(task.status)}.`;
  const reason = waitText(task, now) ?? task.why;
  if (reason === undefined)
    return "No process supervises it at the moment: it goes on when its project is opened in OpenCode.";
  return `Waits for ${toSingleLine(reason)}.`;
};

/** Returns the command lines that answer what a task asks. They are not wrapped, so that they can be copied. */
export const answerLines = ({ attention }: ApiTask): string[] =>
  (attention?.requests ?? []).map((request) => answerLine(CALLED_AS, request));

const show = (tasks: readonly ApiTask[], terminal: Terminal) => {
  const now = Date.now();
  for (const task of tasks.toSorted(byUrgency)) {
    terminal.print(
      terminal.style("bold", named(task)),
      ...wrap(whyLine(task, now), terminal.columns - 2).map((line) => `  ${line}`),
      ...answerLines(task).map((line) => `  ${terminal.style("dim", "answer with:")} ${line}`),
    );
  }
};

/** `opencode-taskchart why`: says what a task, or each live one, waits for. */
export const whyCommand = ({ terminal }: CommandContext) =>
  command("why", "say what a task waits for, since when, and what will move it")
    .argument("[task-id]", `${TASK_ID}; without it, all tasks that have not ended`)
    .addHelpText("after", `\nOpenCode must be running.\n${examples(["why", "all tasks"], ["why 4f5c9a", "one task"])}`)
    .action(async (id, { json, data }) => {
      const client = openClient(data);
      const tasks = id === undefined ? await liveTasks(client) : [received(await client.task(taskIdOf(id)))];
      if (json) return printJson(terminal, tasks.map(reasonOf));
      if (tasks.length === 0) return terminal.print("No task is under way.");
      show(tasks, terminal);
    });
