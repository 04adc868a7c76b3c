import { toSingleLine } from "../services/platform/plain-text.ts";
import type { WhatIf } from "../services/replay/what-if.ts";
import { dollars } from "../services/text/dollars.ts";
import { duration } from "../services/text/duration.ts";
import type { BudgetedUsage, TaskFacts } from "../task.ts";
import { dateTime, type Terminal } from "./terminal.ts";

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
      : `${plural(silences.length, "silence")} would have been called stale, ${wrong.length} of them wrongly: the task was heard of again.`,
    ...withMore(wrong.map(({ facts }) => named(facts, "alive"))),
  ];
};

/** Writes what other limits would have done with the tasks of a time span; `since` and `until` are epoch milliseconds. */
export const whatIfLines = (
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
