import { Option } from "@commander-js/extra-typings";
import type { ApiFailure } from "../../client/api-types.ts";
import { afterEvent, type FeedEvent, type FollowedTasks, NO_TASKS } from "../../client/follow-tasks.ts";
import { TASK_STATUSES } from "../../field-values.ts";
import { cut } from "../../services/platform/columns.ts";
import { hasEnded } from "../../task.ts";
import { type CommandContext, CommandError, command, examples, PROGRAM, printJson } from "../command.ts";
import { openClient, ownUsage, readTasks } from "../task-source.ts";
import { summaryLine, taskTable } from "../task-table.ts";
import { clockTime, type Terminal } from "../terminal.ts";

/** Ended tasks that are listed unless more are asked for: a screen. */
const DEFAULT_LIMIT = 20;

const readLimit = (given: string): number => {
  const limit = Number(given);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new CommandError(`--limit takes a whole number above 0, not "${given}".`);
};

export const listCommand = ({ terminal }: CommandContext) =>
  command("list", "list tasks, those that wait for you first")
    .alias("ls")
    .addOption(new Option("--status <status>", "only those with this status").choices(TASK_STATUSES))
    .option("--agent <name>", "only those of this agent")
    .option("--batch <id>", "only those of this batch")
    .option("--parent <session>", "only those that this session launched: its whole id")
    .option("--directory <folder>", "only those of this project folder")
    .option("--search <words>", "only those with these words in their description, prompt or result")
    .option("--limit <count>", "how many ended ones at most", readLimit, DEFAULT_LIMIT)
    .addHelpText(
      "after",
      `
Tasks that have not ended are all listed. Without a running OpenCode they are read from the task database.
With --parent or --batch, the last line sums up what all tasks of that session or batch used, with all their subtasks.
${examples(["list", "what goes on"], ["list --status error --limit 50", "what failed lately"])}`,
    )
    .action(async ({ json, data, limit, ...query }) => {
      const { tasks, usage, isGroup } = await readTasks(query, limit, { data, terminal });
      const page = { tasks, total: tasks.length, limit, offset: 0 };
      if (json) return printJson(terminal, isGroup ? { ...page, usage } : page);
      if (tasks.length === 0) return terminal.print("No tasks.");
      const summary = summaryLine(tasks, usage);
      terminal.print(...taskTable(tasks, terminal, Date.now()), "", terminal.style("bold", summary));
    });

/** Milliseconds between frames at least, and at most: times on the screen go on while nothing happens. */
const FRAME_MS = 100;
const TICK_MS = 1_000;

/** Lines that are not of the table: the head and the foot, each with an empty line. */
const FRAME_LINES = 4;

const lostLine = ({ kind, reason }: ApiFailure): string =>
  kind === "notRunning"
    ? "OpenCode is not running: open it in your project. Waiting for it."
    : `${reason} Trying again.`;

/** Returns what the screen shows of the tasks: those that have not ended, and as many of the ended ones as fit. */
export const watchFrame = ({ tasks, lost, server }: FollowedTasks, terminal: Terminal, now: number): string[] => {
  const all = [...tasks.values()];
  const live = all.filter((task) => !hasEnded(task));
  const summary = live.length > 0 ? summaryLine(live, ownUsage(live)) : "No task is under way";
  const head = lost ? lostLine(lost) : summary;
  const table = all.length > 0 ? taskTable(all, terminal, now) : [];
  const room = Math.max(0, terminal.rows - FRAME_LINES);
  const left = table.length - room;
  const shown = left > 0 ? table.slice(0, room) : table;
  const time = clockTime(now).slice(0, 8);
  const more = left > 0 ? `  ${left} more ${left === 1 ? "line" : "lines"}: ${PROGRAM} list` : "";
  return [
    terminal.style(lost ? ["bold", "red"] : "bold", cut(head, terminal.columns)),
    "",
    ...shown,
    ...Array<string>(Math.max(0, room - shown.length)).fill(""),
    "",
    terminal.style("dim", cut(`${time}  q quits${lost && server ? "  out of date" : ""}${more}`, terminal.columns)),
  ];
};

const watch = async (feed: AsyncIterable<FeedEvent>, ending: AbortController, terminal: Terminal): Promise<void> => {
  let known = NO_TASKS;
  let hasNews = false;
  let frameTimer: NodeJS.Timeout | undefined;
  const end = () => ending.abort();
  const screen = terminal.openScreen({ onKey: (key) => key === "q" && end(), onResize: () => draw(), onEnd: end });
  const draw = () => {
    frameTimer = undefined;
    if (hasNews) screen.draw(watchFrame(known, terminal, Date.now()));
  };
  const ticking = setInterval(draw, TICK_MS);
  try {
    for await (const event of feed) {
      known = afterEvent(known, event);
      hasNews = true;
      frameTimer ??= setTimeout(draw, FRAME_MS);
    }
  } finally {
    clearInterval(ticking);
    clearTimeout(frameTimer);
    screen.close();
  }
};

export const watchCommand = ({ terminal }: CommandContext) =>
  command("watch", "watch tasks in a table that is always up to date")
    .addHelpText(
      "after",
      `
It waits for OpenCode where that is not running, and goes on after a restart. With --json it prints each
change as a line of JSON. q or ctrl+c ends it.
${examples(["watch", "all tasks, live"], ["watch --json | jq .task.status", "each change, for a script"])}`,
    )
    .action(async ({ json, data }) => {
      const ending = new AbortController();
      const feed = openClient(data).follow(ending.signal);
      if (json) {
        for await (const event of feed) terminal.print(JSON.stringify(event));
        return;
      }
      if (!terminal.isInteractive) {
        throw new CommandError(`watch needs a terminal. For a script use ${PROGRAM} watch --json, or list.`);
      }
      await watch(feed, ending, terminal);
    });
