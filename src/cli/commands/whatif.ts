import type { Concurrency } from "../../machines/task/slot-queue.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { type JournaledTask, type TriedLimits, type WhatIf, whatIf } from "../../services/replay/what-if.ts";
import type { JournalReader } from "../../services/store/sqlite/journal-reader.ts";
import { dollars, duration } from "../../services/text/amounts.ts";
import type { BudgetedUsage, TaskFacts } from "../../task.ts";
import { type CommandContext, CommandError, command, DURATION, examples, printJson, readDuration } from "../command.ts";
import { withJournals } from "../task-database.ts";
import { dateTime, type Terminal } from "../terminal.ts";

/** Reads a point in time: a duration before `now`, or a date as JavaScript reads it. Epoch milliseconds. */
const readTime = (option: string, text: string, now: number): number => {
  if (/^\d+(\.\d+)?[a-z]+$/.test(text)) return now - readDuration(option, text);
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return at;
  throw new CommandError(
    `--${option} takes a duration before now, such as 24h, or a date, such as 2026-01-31T13:00, not "${toSingleLine(text)}".`,
  );
};

const readNumber = (option: string, text: string, { isWhole }: { isWhole: boolean }): number => {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (number > 0 && (!isWhole || Number.isInteger(number))) return number;
  throw new CommandError(
    `--${option} takes a ${isWhole ? "whole number above 0" : "number above 0"}, not "${toSingleLine(text)}".`,
  );
};

const readNamed = (option: string, texts: string[] = []): Record<string, number> =>
  Object.fromEntries(
    texts.map((text) => {
      const [, name, number] = /^(.+)=([^=]*)$/.exec(text) ?? [];
      if (name === undefined || number === undefined) {
        throw new CommandError(
          `--${option} takes a name and a number, such as ${option}=3, not "${toSingleLine(text)}".`,
        );
      }
      return [name, readNumber(option, number, { isWhole: true })];
    }),
  );

/** The options as they were given. */
interface Given {
  concurrency?: string | undefined;
  provider?: string[] | undefined;
  model?: string[] | undefined;
  agent?: string[] | undefined;
  budgetCost?: string | undefined;
  budgetTokens?: string | undefined;
  budgetToolCalls?: string | undefined;
  stale?: string | undefined;
}

const readSlots = (values: Given): Concurrency | undefined => {
  const { concurrency, provider, model, agent } = values;
  if ([concurrency, provider, model, agent].every((given) => given === undefined)) return undefined;
  return {
    default:
      concurrency === undefined ? Number.POSITIVE_INFINITY : readNumber("concurrency", concurrency, { isWhole: true }),
    providers: readNamed("provider", provider),
    models: readNamed("model", model),
    agents: readNamed("agent", agent),
  };
};

const readLimits = (values: Given): TriedLimits => {
  const { budgetCost: cost, budgetTokens: tokens, budgetToolCalls: toolCalls, stale } = values;
  const optional = (option: string, text: string | undefined, isWhole: boolean) =>
    text === undefined ? undefined : readNumber(option, text, { isWhole });
  const budget = {
    cost: optional("budget-cost", cost, false),
    tokens: optional("budget-tokens", tokens, true),
    toolCalls: optional("budget-tool-calls", toolCalls, true),
  };
  const limits = {
    slots: readSlots(values),
    budget: Object.values(budget).some((limit) => limit !== undefined) ? budget : undefined,
    stale: stale === undefined ? undefined : readDuration("stale", stale),
  };
  if (Object.values(limits).every((limit) => limit === undefined)) {
    throw new CommandError("Give at least one limit to try, such as --concurrency 3, --budget-cost 1 or --stale 5m.");
  }
  return limits;
};

const readTasks = (journals: JournalReader, since: number, until: number): JournaledTask[] =>
  journals.launchedBetween(since, until).flatMap(({ id }) => {
    const [journal, progress] = [journals.journal(id), journals.progress(id)];
    return journal && progress ? { journal, progress } : [];
  });

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];

/** `opencode-taskchart whatif`: says what other limits would have done with the stored tasks. */
export const whatIfCommand = ({ terminal }: CommandContext) =>
  command(
    "whatif",
    "say what other limits would have done with the stored tasks",
    "Take the stored journals of a time span through the statecharts with other limits, and say which runs would have waited for a slot and for how long, which tasks would have been stopped and what that would have saved, and which silences would have been called stale. It changes nothing. What agents would have done differently it cannot know.",
  )
    .option("--concurrency <n>", "runs that may be at work at once")
    .option("--provider <name>=<n>", "the same for one provider; may be repeated, like the next two", collect)
    .option("--model <name>=<n>", "the same for one model, written provider/model", collect)
    .option("--agent <name>=<n>", "the same for one agent", collect)
    .option("--budget-cost <dollars>", "what a task may cost, with the tasks that it launches")
    .option("--budget-tokens <n>", "the tokens that it may use")
    .option("--budget-tool-calls <n>", "the tool calls that it may make")
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
    .action(async ({ json, data, since: from, until: to, recordedStale: recorded, ...values }) => {
      const limits = readLimits(values);
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

const plural = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`;

const named = ({ sessionID, description }: TaskFacts, what: string): string =>
  `  ${sessionID}  ${what.padEnd(10)}  ${toSingleLine(description)}`;

const withMore = (lines: string[]): string[] =>
  lines.length > MAX_NAMED ? [...lines.slice(0, MAX_NAMED), `  … and ${lines.length - MAX_NAMED} more`] : lines;

const queueLines = ({ queue, runs }: WhatIf, { style }: Terminal): string[] => {
  if (!queue) return [];
  const { queued, mostAtWork, later } = queue;
  const waited = queued.reduce((sum, run) => sum + run.waited, 0);
  const figures =
    queued.length === 0
      ? `No run would have waited for a slot.`
      : `${plural(queued.length, "run")} of ${runs} would have waited for a slot: ${duration(queued[0]?.waited ?? 0)} at most, ${duration(waited)} in all. The last would have ended ${later === 0 ? "no later" : `${duration(later)} later`}.`;
  return [
    "",
    style("bold", `Slots: at most ${mostAtWork} at work at once`),
    figures,
    ...withMore(queued.map(({ facts, waited: ms }) => named(facts, duration(ms)))),
  ];
};

const usedUp: Record<keyof BudgetedUsage, (used: BudgetedUsage) => string> = {
  cost: ({ cost }) => dollars(cost),
  tokens: ({ tokens }) => `${tokens} tokens`,
  toolCalls: ({ toolCalls }) => plural(toolCalls, "call"),
};

const budgetLines = ({ stopped }: WhatIf, { style }: Terminal): string[] => {
  if (!stopped) return [];
  const saved = stopped.reduce(
    (sum, task) => ({ cost: sum.cost + task.saved.cost, tokens: sum.tokens + task.saved.tokens }),
    {
      cost: 0,
      tokens: 0,
    },
  );
  return [
    "",
    style("bold", "Budget"),
    stopped.length === 0
      ? "No task would have been stopped."
      : `${plural(stopped.length, "task")} would have been stopped. That would have saved up to ${dollars(saved.cost)} and ${plural(Math.round(saved.tokens), "token")}.`,
    ...withMore(stopped.map(({ facts, limit, used }) => named(facts, usedUp[limit](used)))),
  ];
};

const silenceLines = ({ silences }: WhatIf, { style }: Terminal): string[] => {
  if (!silences) return [];
  const wrong = silences.filter(({ wasAlive }) => wasAlive);
  return [
    "",
    style("bold", "Silence"),
    silences.length === 0
      ? "No task would have been called stale."
      : `${plural(silences.length, "silence")} would have been called stale, ${wrong.length} of them wrongly: the task showed a sign of life again.`,
    ...withMore(wrong.map(({ facts }) => named(facts, "alive"))),
  ];
};

/** Writes what other limits would have done with the tasks of a time span; `since` and `until` are epoch milliseconds. */
const whatIfLines = (
  result: WhatIf,
  { since, until }: { since: number; until: number },
  terminal: Terminal,
): string[] => {
  const { tasks, runs, mostAtWork, unreadable } = result;
  const left = unreadable === 0 ? "" : ` Left out: ${plural(unreadable, "task")} without a whole journal.`;
  return [
    `${plural(tasks, "task")} with ${plural(runs, "run")}, launched from ${dateTime(since)} to ${dateTime(until)}. At most ${mostAtWork} at work at once.${left}`,
    ...queueLines(result, terminal),
    ...budgetLines(result, terminal),
    ...silenceLines(result, terminal),
  ];
};
