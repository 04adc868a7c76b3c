import type { ApiTask } from "../../client/api-types.ts";
import { columnsOf } from "../../services/platform/columns.ts";
import { dollars, formatCost, formatUsage, shortTime, wakesInShort } from "../../services/text/amounts.ts";
import { countTasks, countWords, type TaskCounts } from "../../services/text/task-counts.ts";
import { isQueued, runTime } from "../../services/text/task-state.ts";
import { addUp, addUpWakes, hasEnded, missedIn, type Usage, type WakeCosts } from "../../task.ts";
import { branchOf, cutText, type Line, muted, type Segment, spread, type Tone, warningLines, wrapped } from "./line.ts";
import { type Row, rowStatusOf, rowsOf } from "./tasks.ts";

/** Tasks that have not ended and are shown at most: the sidebar also has OpenCode's own parts. */
const MAX_LIVE = 8;

/** Ended tasks that are shown; the others are counted. */
const MAX_ENDED = 3;

/** Columns of an agent's name at most: what the agent does is worth more. */
const MAX_AGENT_COLUMNS = 16;

interface PanelLayout {
  columns: number;
  /** Epoch milliseconds. */
  now: number;
  /** The key that opens the list, as the user presses it; undefined if there is none. */
  key?: string | undefined;
  /** Why what is shown may be out of date or incomplete; absent where it is neither. */
  problem?: string | undefined;
  /** Why tasks cannot be shown at all; absent where they can. */
  unreachable?: string | undefined;
}

/** Writes tokens and cost in few columns, such as `12.3k $0.04`, and in fewer, where there is no room for both. */
const usedWords = (usage: Usage): string[] => {
  const { tokens, cost } = inCents(usage);
  const price = cost > 0 ? dollars(cost) : undefined;
  const count = tokens > 0 ? formatUsage({ tokens, cost: 0 })?.replace(/ tokens?$/, "") : undefined;
  if (price === undefined) return count === undefined ? [] : [count];
  return count === undefined ? [price] : [`${count} ${price}`, price];
};

/** The first line of a row: what the task is, and how long its run has taken. */
const headline = (row: Row, { columns, now }: PanelLayout): Line => {
  const { task, depth } = row;
  const { sign, tone } = rowStatusOf(row);
  const isLive = !hasEnded(task);
  const what: Segment = { text: task.description, tone: row.request ? "warning" : isLive ? "text" : "muted" };
  const time = isLive && isQueued(task) ? [] : [muted(shortTime(runTime(task, now)))];
  const head: Segment[] = [branchOf(depth), { text: `${sign} `, tone }];
  return { taskId: task.sessionID, segments: spread(head, what, time, columns) };
};

/** The second line of a row: who works on it, what it does now or asks, and, where there is room, what it has used. */
const detail = (row: Row, { columns }: PanelLayout): Line => {
  const { task, depth, request } = row;
  const { words, tone } = rowStatusOf(row);
  const indent = " ".repeat(depth * 2 + 2);
  const who = muted(`${indent}${cutText(task.agent, MAX_AGENT_COLUMNS)} ${request ? "" : "· "}`);
  const doing: Segment = { text: words, tone: request ? tone : "muted" };
  const room = columns - columnsOf(who.text) - columnsOf(words) - 1;
  const used = usedWords(task.usage).find((text) => columnsOf(text) <= room);
  return { taskId: task.sessionID, segments: spread([who], doing, used === undefined ? [] : [muted(used)], columns) };
};

/** Why a task failed, or how many instructions it missed, below its headline. */
const shortcoming = (row: Row, { columns }: PanelLayout): Line => {
  const { words, tone } = rowStatusOf(row);
  return { taskId: row.task.sessionID, segments: spread([muted("  ")], { text: words, tone }, [], columns) };
};

const endedLines = (row: Row, layout: PanelLayout): Line[] =>
  row.task.status === "error" || missedIn(row.task).length > 0
    ? [headline(row, layout), shortcoming(row, layout)]
    : [headline(row, layout)];

const more = (hidden: number, what: string): Line[] =>
  hidden > 0 ? [{ segments: [muted(`  … ${hidden} more ${what}`)] }] : [];

/** Writes the panel for the tasks of a conversation. Nothing when it has none. */
export const panelLines = (tasks: readonly ApiTask[], layout: PanelLayout): Line[] => {
  const { columns, key, problem, unreachable } = layout;
  const title: Segment = { text: "Tasks", tone: "text", bold: true };
  if (unreachable !== undefined) {
    return [{ segments: [title] }, ...wrapped(unreachable, columns).map((text) => ({ segments: [muted(text)] }))];
  }
  if (tasks.length === 0) return [];
  const summary = summarize(tasks);
  const rows = rowsOf(tasks);
  const live = rows.filter(({ task }) => !hasEnded(task));
  // Failures first: others that end after them do not push them out.
  const ended = rows
    .filter(({ task }) => hasEnded(task))
    .toSorted((one, other) => Number(other.task.status === "error") - Number(one.task.status === "error"));
  const used = formatUsage(inCents(summary.usage));
  const wakes = wakesInShort({ ...summary.wakeCosts, ...inCents(summary.wakeCosts) });
  return [
    { segments: spread([], title, key === undefined ? [] : [muted(key)], columns) },
    ...countLines(summary, columns),
    ...warningLines(problem, columns),
    ...live.slice(0, MAX_LIVE).flatMap((row) => [headline(row, layout), detail(row, layout)]),
    ...more(live.length - MAX_LIVE, "not ended"),
    ...ended.slice(0, MAX_ENDED).flatMap((row) => endedLines(row, layout)),
    ...more(ended.length - MAX_ENDED, "ended"),
    ...(used === undefined ? [] : [{ segments: [muted(cutText(`${used} in all`, columns))] }]),
    ...(wakes === undefined ? [] : [{ segments: [muted(cutText(wakes, columns))] }]),
  ];
};

const CENT = 0.01;

/** Returns a cost to the cent, as OpenCode writes it beside the panel. What is less than a cent stays as it is. */
export const inCents = ({ tokens, cost }: Usage): Usage => ({
  tokens,
  cost: cost < CENT ? cost : Math.round(cost / CENT) * CENT,
});

/** The counts and the sums over the tasks of a conversation. */
interface Summary {
  counts: TaskCounts;
  /** What all tasks used together. */
  usage: Usage;
  /** What it cost to wake agents with their ends. */
  wakeCosts: WakeCosts;
}

/** Counts the tasks of a conversation, and adds up what they used. */
export const summarize = (tasks: readonly ApiTask[]): Summary => ({
  counts: countTasks(tasks),
  usage: addUp(tasks.map(({ progress }) => progress)),
  wakeCosts: addUpWakes(tasks.map(({ progress }) => progress.wakeCosts)),
});

/** True when something goes on, is paused, or waits for a person. */
const isActive = ({ counts: { asking, running, queued, paused } }: Summary): boolean =>
  asking + running + queued + paused > 0;

const separator: Segment = { text: " · ", tone: "muted" };

/** Colours of what is counted; what is not here is not shown: of what has ended, failures alone are of interest. */
const COUNT_TONES: Readonly<Partial<Record<keyof TaskCounts, Tone>>> = {
  ...{ running: "text", requests: "warning", queued: "muted", paused: "muted", failed: "error" },
};

/** The counts, each in its colour. */
const countParts = ({ counts }: Pick<Summary, "counts">): Segment[] =>
  countWords(counts).flatMap(({ what, text }): Segment[] => {
    const tone = COUNT_TONES[what];
    return tone === undefined ? [] : [{ text, tone }];
  });

const separated = (parts: readonly Segment[]): Segment[] =>
  parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));

/** Writes how many tasks run, how often a person is waited for (highlighted), how many failed, wait for a slot and are paused. */
export const countSegments = (summary: Summary): Segment[] => separated(countParts(summary));

/** Writes the same in lines of that many columns. */
const countLines = (summary: Summary, columns: number): Line[] => {
  const lines: Segment[][] = [];
  for (const part of countParts(summary)) {
    const last = lines.at(-1);
    const width = separated([...(last ?? []), part]).reduce((sum, { text }) => sum + columnsOf(text), 0);
    if (last && width <= columns) last.push(part);
    else lines.push([part]);
  }
  return lines.map((parts) => ({ segments: separated(parts) }));
};

/** Writes the line beside the prompt: `3 running · 1 waits for you · $0.42`. Nothing when no task goes on. */
export const statusLine = (summary: Summary): Segment[] => {
  if (!isActive(summary)) return [];
  const cost = formatCost(inCents(summary.usage));
  // A line that is always there says what goes on: what has failed stands in the panel and the list.
  const goesOn = countSegments({ ...summary, counts: { ...summary.counts, failed: 0 } });
  return [...goesOn, ...(cost === undefined ? [] : [separator, { text: cost, tone: "muted" as const }])];
};

/** Columns of a task's description in a line at most: what goes on, and the way back, are to fit beside it. */
const MAX_DESCRIPTION_COLUMNS = 32;

/** What the line in the session of a task says, besides what goes on. */
interface TaskPlace {
  task: ApiTask;
  /** The key that leads back, as the user presses it; undefined if there is none. */
  backKey: string | undefined;
  columns: number;
}

/** Writes the line in the session of a task: which task it is, what goes on around it, and the key that leads back. */
export const taskStatusLine = (summary: Summary, { task, backKey, columns }: TaskPlace): Segment[] => {
  const { sign, tone } = rowStatusOf({ task, depth: 0 });
  const back: Segment[] =
    backKey === undefined
      ? []
      : [
          { text: backKey, tone: "text" },
          { text: " back", tone: "muted" },
        ];
  const parts = [back, statusLine(summary)].filter((part) => part.length > 0);
  const rest = parts.flatMap((part) => [separator, ...part]);
  const room = columns - rest.reduce((sum, { text }) => sum + columnsOf(text), columnsOf(`${sign} `));
  const description = cutText(task.description, Math.max(0, Math.min(room, MAX_DESCRIPTION_COLUMNS)));
  return [{ text: `${sign} `, tone }, { text: description, tone: "text" }, ...rest];
};

/** Writes the line on the first screen, which has no conversation: what goes on in the directory, and how to see it. */
export const homeStatusLine = (summary: Summary): Segment[] => {
  const line = statusLine(summary);
  return line.length === 0 ? [] : [...line, separator, { text: "/tasks", tone: "text" }];
};
