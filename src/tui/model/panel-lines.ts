import { columnsOf } from "../../services/platform/columns.ts";
import { dollars, formatUsage, shortTime } from "../../services/text/amounts.ts";
import { isQueued, runTime } from "../../services/text/task-state.ts";
import { hasEnded, type Usage } from "../../task.ts";
import { cutText, type Line, type Segment, spread, warningLines, wrapped } from "./line.ts";
import { countSegments, inCents, isActive, summarize } from "./status-line.ts";
import { type PanelTask, type Row, rowsOf, standingOf } from "./tasks.ts";

/** Tasks that have not ended and are shown at most: the sidebar also has OpenCode's own parts. */
const MAX_LIVE = 8;

/** Ended tasks that are shown; the others are counted. */
const MAX_ENDED = 3;

/** Columns of an agent's name at most: what the agent does is worth more. */
const MAX_AGENT_COLUMNS = 16;

/** How the panel is to be written. */
interface PanelLayout {
  /** Columns that a line may take. */
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

const muted = (text: string): Segment => ({ text, tone: "muted" });

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
  const { sign, tone } = standingOf(row);
  const indent = depth === 0 ? "" : `${"  ".repeat(depth - 1)}└ `;
  const isLive = !hasEnded(task);
  const what: Segment = { text: task.description, tone: row.request ? "warning" : isLive ? "text" : "muted" };
  const time = isLive && isQueued(task) ? [] : [muted(shortTime(runTime(task, now)))];
  const head: Segment[] = [muted(indent), { text: `${sign} `, tone }];
  return { taskId: task.sessionID, segments: spread(head, what, time, columns) };
};

/** The second line of a row: who works on it, what it does now or asks, and, where there is room, what it has used. */
const detail = (row: Row, { columns }: PanelLayout): Line => {
  const { task, depth, request } = row;
  const { words, tone } = standingOf(row);
  const indent = " ".repeat(depth * 2 + 2);
  const who = muted(`${indent}${cutText(task.agent, MAX_AGENT_COLUMNS)} ${request ? "" : "· "}`);
  const doing: Segment = { text: words, tone: request ? tone : "muted" };
  const room = columns - columnsOf(who.text) - columnsOf(words) - 1;
  const used = usedWords(task.usage).find((text) => columnsOf(text) <= room);
  return { taskId: task.sessionID, segments: spread([who], doing, used === undefined ? [] : [muted(used)], columns) };
};

/** Why a task failed, below its headline. */
const failure = (row: Row, { columns }: PanelLayout): Line => ({
  taskId: row.task.sessionID,
  segments: spread([muted("  ")], { text: standingOf(row).words, tone: "error" }, [], columns),
});

const endedLines = (row: Row, layout: PanelLayout): Line[] =>
  row.task.status === "error" ? [headline(row, layout), failure(row, layout)] : [headline(row, layout)];

const more = (hidden: number, what: string): Line[] =>
  hidden > 0 ? [{ segments: [muted(`  … ${hidden} more ${what}`)] }] : [];

/** Writes the panel for the tasks of a conversation. Nothing when it has none. */
export const panelLines = (tasks: readonly PanelTask[], layout: PanelLayout): Line[] => {
  const { columns, key, problem, unreachable } = layout;
  const title: Segment = { text: "Tasks", tone: "text", bold: true };
  if (unreachable !== undefined) {
    return [{ segments: [title] }, ...wrapped(unreachable, columns).map((text) => ({ segments: [muted(text)] }))];
  }
  if (tasks.length === 0) return [];
  const summary = summarize(tasks);
  const rows = rowsOf(tasks);
  const live = rows.filter(({ task }) => !hasEnded(task));
  const ended = rows.filter(({ task }) => hasEnded(task));
  const counts = countSegments(summary);
  const used = formatUsage(inCents(summary.usage));
  return [
    { segments: spread([], title, key === undefined ? [] : [muted(key)], columns) },
    ...(isActive(summary) ? [{ segments: counts }] : []),
    ...warningLines(problem, columns),
    ...live.slice(0, MAX_LIVE).flatMap((row) => [headline(row, layout), detail(row, layout)]),
    ...more(live.length - MAX_LIVE, "not ended"),
    ...ended.slice(0, MAX_ENDED).flatMap((row) => endedLines(row, layout)),
    ...more(ended.length - MAX_ENDED, "ended"),
    ...(used === undefined ? [] : [{ segments: [muted(cutText(`${used} in all`, columns))] }]),
  ];
};
