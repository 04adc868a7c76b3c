import type { ApiTask, Launch, TaskWay } from "../../client/api-types.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { shortTime } from "../../services/text/amounts.ts";
import { instructionsReport } from "../../services/text/instruction-text.ts";
import { answerLine } from "../../services/text/request-text.ts";
import { nextRunSummary, waitText } from "../../services/text/task-state.ts";
import { hasEnded } from "../../task.ts";
import {
  CALLED_AS,
  type CommandContext,
  CommandError,
  command,
  examples,
  named,
  printJson,
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import type { Standing } from "../draw-sheet.ts";
import { liveTasks, openClient, received } from "../task-source.ts";
import { byUrgency } from "../task-table.ts";
import type { Terminal } from "../terminal.ts";

/** Describes in a sentence what a task waits for, since when, and who or what moves it. `now` is epoch milliseconds. */
export const whyLine = (task: ApiTask, now: number): string => {
  const goesOn = nextRunSummary(task);
  if (goesOn !== undefined) return `It is ${toSingleLine(task.status)}, and ${goesOn}.`;
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

/** What `--json` prints of a task. */
const reasonOf = ({
  sessionID,
  status,
  state,
  waiting,
  queue,
  server,
  attention,
  why,
  instructions,
  error,
}: ApiTask) => ({
  sessionID,
  status,
  state,
  waiting,
  queue,
  server,
  attention,
  why,
  instructions,
  error,
});

/** What `--json` prints of a launch. */
const reasonOfLaunch = ({ id, parentSessionID, directory, description, states, since, why, refusal }: Launch) => ({
  launch: id,
  ...{ parentSessionID, directory, description, states, since, why, refusal },
});

const indented = (text: string, { columns }: Terminal): string[] =>
  wrap(toSingleLine(text), columns - 2).map((line) => `  ${line}`);

const printReason = (task: ApiTask, terminal: Terminal) =>
  terminal.print(
    terminal.style("bold", named(task)),
    ...[whyLine(task, Date.now()), instructionsReport(task) ?? []].flat().flatMap((text) => indented(text, terminal)),
    ...answerLines(task).map((line) => `  ${terminal.style("dim", "answer with:")} ${line}`),
  );

/** Pauses between the steps of a launch that are worth a word, in milliseconds. */
const SHOWN_PAUSE_MS = 100;

/** Says what the launch of a task did. */
const launchLine = async (steps: NonNullable<TaskWay["launch"]>): Promise<string> => {
  const { eventInWords } = await import("../../machines/words.ts");
  const parts = steps.map(({ type, at, reason }, index) => {
    const pause = at - (steps[index - 1]?.at ?? at);
    const words = eventInWords("launch", type);
    const after = pause < SHOWN_PAUSE_MS ? "" : ` after ${shortTime(pause)}`;
    return `${words}${after}${reason === undefined ? "" : ` (${reason})`}`;
  });
  return `Its launch: ${parts.join(", ")}.`;
};

const printLaunch = (launch: Launch, terminal: Terminal) => {
  const { id, description, parentSessionID, directory, why, since, refusal } = launch;
  const time = since === undefined ? "" : ` (for ${shortTime(Date.now() - Date.parse(since))})`;
  const session = `session ${toSingleLine(parentSessionID)}`;
  const about = description === undefined ? `of ${session}` : `"${toSingleLine(description)}"`;
  const sentences = [`${why.replace(/\.$/, "")}${time}.`, refusal ?? [], `By ${session}, in ${directory}.`].flat();
  terminal.print(
    terminal.style("bold", `launch ${toSingleLine(id)} ${about}`),
    ...sentences.flatMap((text) => indented(text, terminal)),
  );
};

const printChart = async (standing: Standing, terminal: Terminal) => {
  const { drawSheet } = await import("../draw-sheet.ts");
  terminal.print("", ...drawSheet(standing, terminal), "");
};

/** The ids of launches are those of messages. */
const isLaunchId = (id: string): boolean => id.startsWith("msg_");

/** Returns the launches whose ids begin so. @throws CommandError where there are none */
const launchesFrom = async (id: string, client: StatusApiClient): Promise<Launch[]> => {
  const launches = received(await client.launches()).launches.filter((launch) => launch.id.startsWith(id));
  if (launches.length > 0) return launches;
  throw new CommandError(`There is no launch "${toSingleLine(id)}": it has led to a task, or nothing is left of it.`);
};

/** Returns what a person asks about: a launch, a task, or all that has not ended. */
const find = async (id: string | undefined, client: StatusApiClient) => {
  if (id === undefined) return { tasks: await liveTasks(client), ...received(await client.launches()) };
  if (isLaunchId(id)) return { tasks: [], launches: await launchesFrom(id, client) };
  return { tasks: [received(await client.task(taskIdOf(id)))], launches: [] };
};

export const whyCommand = ({ terminal }: CommandContext) =>
  command("why", "say what a task waits for, since when, and what will move it")
    .argument("[task-id]", `${TASK_ID}, or the id of a launch; without it, all that has not ended`)
    .option("--chart", "draw where in its chart each is, how it came there, and what leads away")
    .addHelpText(
      "after",
      `
Launches that have led to no task are listed, too, as long as they are under way or something is left of them.
OpenCode must be running.
${examples(
  ["why", "all tasks, and launches that have led to none"],
  ["why 4f5c9a", "one task, and what its launch did"],
  ["why 4f5c9a --chart", "and what may happen to it"],
)}`,
    )
    .action(async (id, { json, data, chart }) => {
      const client = openClient(data);
      const { tasks, launches } = await find(id, client);
      if (json) return printJson(terminal, [...tasks.map(reasonOf), ...launches.map(reasonOfLaunch)]);
      if (tasks.length + launches.length === 0) return terminal.print("No task is under way.");
      for (const task of tasks.toSorted(byUrgency)) {
        printReason(task, terminal);
        const isFirstRun = task.resumeCount === 0;
        if (!chart && (id === undefined || !isFirstRun)) continue;
        const way = received(await client.way(task.sessionID));
        if (id !== undefined && isFirstRun && way.launch)
          terminal.print(...indented(await launchLine(way.launch), terminal));
        if (chart) await printChart({ chart: "task", states: task.states, way }, terminal);
      }
      for (const launch of launches) {
        printLaunch(launch, terminal);
        if (chart && launch.states.length > 0)
          await printChart({ chart: "launch", states: launch.states, way: launch }, terminal);
      }
    });
