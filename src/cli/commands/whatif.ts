import { toSingleLine } from "../../services/platform/plain-text.ts";
import { type JournaledTask, type TriedLimits, type WhatIf, whatIf } from "../../services/replay/what-if.ts";
import type { JournalReader } from "../../services/store/sqlite/journal-reader.ts";
import { dollars, duration } from "../../services/text/amounts.ts";
import { addUp, type BudgetedUsage, type TaskFacts } from "../../task.ts";
import { type CommandContext, CommandError, command, DURATION, examples, printJson, readDuration } from "../command.ts";
import { withJournals } from "../task-database.ts";
import { count, dateTime, type Terminal } from "../terminal.ts";

/** Reads a point in time: a duration before `now`, or a date as JavaScript reads it. Epoch milliseconds. */
const readTime = (option: string, text: string, now: number): number => {
  if (/^\d+(\.\d+)?[a-z]+$/.test(text)) return now - readDuration(option, text);
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return at;
  throw new CommandError(
    `--${option} takes a duration before now, such as 24h, or a date, such as 2026-01-31T13:00, not "${toSingleLine(text)}".`,
  );
};

/** Returns the reader of an option that is a number above 0. */
const number =
  (option: string, kind: "whole number" | "number") =>
  (text: string): number => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (value > 0 && (kind === "number" || Number.isInteger(value))) return value;
    throw new CommandError(`--${option} takes a ${kind} above 0, not "${toSingleLine(text)}".`);
  };

/** Returns the reader of an option that may be repeated, each time with a name and a whole number. */
const named =
  (option: string) =>
  (text: string, before: Record<string, number> | undefined): Record<string, number> => {
    const [, name, value] = /^(.+)=([^=]*)$/.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return { ...before, [name]: number(option, "whole number")(value) };
    throw new CommandError(`--${option} takes a name and a number, such as ${option}=3, not "${toSingleLine(text)}".`);
  };

const isGiven = (values: object): boolean => Object.values(values).some((value) => value !== undefined);

const readTasks = (journals: JournalReader, since: number, until: number): JournaledTask[] =>
  journals.launchedBetween(since, until).flatMap(({ id }) => {
    const [journal, progress] = [journals.journal(id), journals.progress(id)];
    return journal && progress ? { journal, progress } : [];
  });

export const whatIfCommand = ({ terminal }: CommandContext) =>
  command(
    "whatif",
    "say what other limits would have done with the stored tasks",
    "Take the stored journals of a time span through the statecharts with other limits, and say which runs would have waited for a slot and for how long, which tasks would have been stopped and what that would have saved, and which silences would have been called stale. It changes nothing. What agents would have done differently it cannot know.",
  )
    .option("--concurrency <n>", "runs that may be at work at once", number("concurrency", "whole number"))
    .option("--provider <name>=<n>", "the same for one provider; may be repeated, like the next two", named("provider"))
    .option("--model <name>=<n>", "the same for one model, written provider/model", named("model"))
    .option("--agent <name>=<n>", "the same for one agent", named("agent"))
    .option(
      "--budget-cost <dollars>",
      "what a task may cost, with the tasks that it launches",
      number("budget-cost", "number"),
    )
    .option("--budget-tokens <n>", "the tokens that it may use", number("budget-tokens", "whole number"))
    .option("--budget-tool-calls <n>", "the tool calls that it may make", number("budget-tool-calls", "whole number"))
    .option("--stale <duration>", "the silence after which a task is stale")
    .option(
      "--recorded-stale <duration>",
      "the same as it was when the journals were written; shorter silences were not recorded",
      "10m",
    )
    .option("--since <time>", "tasks launched from then on: a duration before now, or a date", "24h")
    .option("--until <time>", "tasks launched before then (default: now)")
    .addHelpText(
      "after",
      `
${DURATION}
${examples(["whatif --concurrency 3 --since 7d", "who would have queued last week"])}`,
    )
    .action(async ({ json, data, since: from, until: to, recordedStale: recorded, ...given }) => {
      const { concurrency, provider = {}, model = {}, agent = {}, stale: silence } = given;
      const { budgetCost: cost, budgetTokens: tokens, budgetToolCalls: toolCalls } = given;
      const isSlotLimited = isGiven({ concurrency, ...given.provider, ...given.model, ...given.agent });
      const limits: TriedLimits = {
        slots: isSlotLimited
          ? { default: concurrency ?? Number.POSITIVE_INFINITY, providers: provider, models: model, agents: agent }
          : undefined,
        budget: isGiven({ cost, tokens, toolCalls }) ? { cost, tokens, toolCalls } : undefined,
        stale: silence === undefined ? undefined : readDuration("stale", silence),
      };
      if (!isGiven(limits)) {
        throw new CommandError(
          "Give at least one limit to try, such as --concurrency 3, --budget-cost 1 or --stale 5m.",
        );
      }
      const now = Date.now();
      const since = readTime("since", from, now);
      // A task that was launched this very moment counts.
      const until = to === undefined ? now + 1 : readTime("until", to, now);
      if (since >= until) throw new CommandError("--since must be before --until.");
      const recordedStale = readDuration("recorded-stale", recorded);
      const tasks = await withJournals(data, (journals) => readTasks(journals, since, until));
      const result = whatIf(tasks, limits, recordedStale);
      if (json) return printJson(terminal, result);
      terminal.print(...whatIfLines(result, { since, until }, terminal));
    });

/** Tasks of each kind that are named. */
const MAX_NAMED = 10;

const taskLine = ({ sessionID, description }: TaskFacts, what: string): string =>
  `  ${sessionID}  ${what.padEnd(10)}  ${toSingleLine(description)}`;

/** Formats what is said of one limit, and the tasks that it is said of. */
const section = ({ style }: Terminal, title: string, says: string, tasks: string[]): string[] => {
  const more = tasks.length > MAX_NAMED ? [`  … and ${tasks.length - MAX_NAMED} more`] : [];
  return ["", style("bold", title), says, ...tasks.slice(0, MAX_NAMED), ...more];
};

const queueLines = ({ queue, runs }: WhatIf, terminal: Terminal): string[] => {
  if (!queue) return [];
  const { queued, mostAtWork, later } = queue;
  const waited = queued.reduce((sum, run) => sum + run.waited, 0);
  return section(
    terminal,
    `Slots: at most ${mostAtWork} at work at once`,
    queued.length === 0
      ? `No run would have waited for a slot.`
      : `${count(queued.length, "run")} of ${runs} would have waited for a slot: ${duration(queued[0]?.waited ?? 0)} at most, ${duration(waited)} in all. The last would have ended ${later === 0 ? "no later" : `${duration(later)} later`}.`,
    queued.map(({ facts, waited: ms }) => taskLine(facts, duration(ms))),
  );
};

const usedUp: Record<keyof BudgetedUsage, (used: BudgetedUsage) => string> = {
  cost: ({ cost }) => dollars(cost),
  tokens: ({ tokens }) => `${tokens} tokens`,
  toolCalls: ({ toolCalls }) => count(toolCalls, "call"),
};

const budgetLines = ({ stopped }: WhatIf, terminal: Terminal): string[] => {
  if (!stopped) return [];
  const saved = addUp(stopped.map((task) => task.saved));
  return section(
    terminal,
    "Budget",
    stopped.length === 0
      ? "No task would have been stopped."
      : `${count(stopped.length, "task")} would have been stopped. That would have saved up to ${dollars(saved.cost)} and ${count(Math.round(saved.tokens), "token")}.`,
    stopped.map(({ facts, limit, used }) => taskLine(facts, usedUp[limit](used))),
  );
};

const silenceLines = ({ silences }: WhatIf, terminal: Terminal): string[] => {
  if (!silences) return [];
  const wrong = silences.filter(({ wasAlive }) => wasAlive);
  return section(
    terminal,
    "Silence",
    silences.length === 0
      ? "No task would have been called stale."
      : `${count(silences.length, "silence")} would have been called stale, ${wrong.length} of them wrongly: the task showed a sign of life again.`,
    wrong.map(({ facts }) => taskLine(facts, "alive")),
  );
};

/** Writes what other limits would have done with the tasks of a time span; `since` and `until` are epoch milliseconds. */
const whatIfLines = (
  result: WhatIf,
  { since, until }: { since: number; until: number },
  terminal: Terminal,
): string[] => {
  const { tasks, runs, mostAtWork, unreadable } = result;
  const left = unreadable === 0 ? "" : ` Left out: ${count(unreadable, "task")} without a whole journal.`;
  return [
    `${count(tasks, "task")} with ${count(runs, "run")}, launched from ${dateTime(since)} to ${dateTime(until)}. At most ${mostAtWork} at work at once.${left}`,
    ...queueLines(result, terminal),
    ...budgetLines(result, terminal),
    ...silenceLines(result, terminal),
  ];
};
