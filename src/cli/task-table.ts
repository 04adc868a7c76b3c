import type { ApiTask } from "../client/api-types.ts";
import { columnsOf, cut } from "../services/platform/columns.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { compactNumber, dollars, shortTime, wakesInShort } from "../services/text/amounts.ts";
import { missedInShort } from "../services/text/instruction-text.ts";
import { onServer } from "../services/text/model-and-server.ts";
import { requestLine } from "../services/text/request-text.ts";
import { incompleteInShort } from "../services/text/result-text.ts";
import { countTasks, countWords, requestsIn } from "../services/text/task-counts.ts";
import { runTime, stateOf, type Urgency, urgencyOf } from "../services/text/task-state.ts";
import { addUpWakes, hasEnded, missedIn, type Usage } from "../task.ts";
import type { OpenUserRequest } from "../user-request.ts";
import { PROGRAM } from "./command.ts";
import type { Style, Terminal } from "./terminal.ts";

/** Characters of an id that are shown at least: ids of tasks that are launched together begin alike. */
const SHORTEST = 6;

/** Returns an id without the beginning that all have. */
const bare = (id: string): string => id.replace(/^ses_/, "");

/**
 * Returns the short ids of some tasks: beginnings, all of one length, of which no two are the same. As with git, they may be
 * given in place of the ids.
 */
export const shortIds = (ids: readonly string[]): ReadonlyMap<string, string> => {
  const sorted = [...new Set(ids)].sort();
  const sharedWithNext = sorted.map((id, index) => {
    const next = bare(sorted[index + 1] ?? "");
    const differs = [...bare(id)].findIndex((character, place) => character !== next[place]);
    return differs < 0 ? bare(id).length : differs;
  });
  const length = Math.max(SHORTEST, ...sharedWithNext.map((shared) => shared + 1));
  return new Map(sorted.map((id) => [id, bare(id).slice(0, length)]));
};

/** What a person is to see of a task first: the lower, the earlier. */
const RANK: Record<Urgency, number> = { asks: 0, silent: 1, working: 2, queued: 3, ended: 4 };

const STYLES: Record<string, Style> = {
  "asks you": ["bold", "yellow"],
  silent: "yellow",
  queued: "cyan",
  offered: "cyan",
  retrying: "yellow",
  stopping: "yellow",
  completed: "green",
  error: "red",
  cancelled: "gray",
};

/** Returns the state of a task in one or two words, as a cell of a table. */
export const stateCell = (task: ApiTask): Cell & { style: Style } => {
  const state = stateOf(task);
  const place = state === "queued" && task.queue ? ` #${task.queue.place}` : "";
  return { text: toSingleLine(state) + place, style: STYLES[state] ?? (hasEnded(task) ? "gray" : "blue") };
};

/** Sorts tasks as a person wants them: what waits for them, what is at work, what is queued, what ended last. */
export const byUrgency = (one: ApiTask, other: ApiTask): number => {
  const [a, b] = [urgencyOf(one), urgencyOf(other)];
  if (a !== b) return RANK[a] - RANK[b];
  if (a === "queued") return (one.queue?.place ?? 0) - (other.queue?.place ?? 0);
  if (a === "ended") return (other.completedAt ?? "").localeCompare(one.completedAt ?? "");
  return one.runStartedAt.localeCompare(other.runStartedAt) || one.sessionID.localeCompare(other.sessionID);
};

const COLUMNS: readonly Column[] = [
  { title: "TASK" },
  { title: "STATE" },
  { title: "AGENT", drop: 3 },
  { title: "TIME", align: "right", drop: 1 },
  { title: "TOKENS", align: "right", drop: 4 },
  { title: "COST", align: "right", drop: 2 },
  { title: "ABOUT" },
];

/** What is not known is left empty: the host reports no price for some models. */
const costText = (cost: number): string => (cost > 0 ? dollars(cost) : "");
const tokensText = (tokens: number): string => (tokens > 0 ? compactNumber(tokens) : "");

const aboutOf = (task: ApiTask): string => {
  const incomplete = task.status === "completed" ? incompleteInShort(task) : undefined;
  const missed = missedInShort(missedIn(task).length);
  return toSingleLine([task.description, missed, task.error?.message ?? incomplete].filter(Boolean).join(": "));
};

const requestLines = (requests: readonly OpenUserRequest[], id: string): Cell[] => {
  const lines = requests.map((request): Cell => ({ text: requestLine(request), style: "yellow" }));
  return lines.length === 0 ? [] : [...lines, { text: `answer with: ${PROGRAM} answer ${id}`, style: "dim" }];
};

/** Formats tasks as a table: what waits for a person first, with what it asks. `now` is epoch milliseconds. */
export const taskTable = (tasks: readonly ApiTask[], terminal: Terminal, now: number): string[] => {
  const ids = shortIds(tasks.map(({ sessionID }) => sessionID));
  // What holds up the tasks above the one that asks is shown below that one alone.
  const asked = requestsIn(tasks);
  const rows = tasks.toSorted(byUrgency).map((task): TableRow => {
    const id = toSingleLine(ids.get(task.sessionID) ?? task.sessionID);
    const about: Cell = { text: aboutOf(task), ...(hasEnded(task) ? { style: "dim" } : {}) };
    return {
      cells: [
        { text: id, style: "bold" },
        stateCell(task),
        { text: [toSingleLine(task.agent), onServer(task)].filter(Boolean).join(" ") },
        { text: shortTime(runTime(task, now)) },
        { text: tokensText(task.usage.tokens) },
        { text: costText(task.usage.cost) },
        about,
      ],
      below: requestLines(
        asked.flatMap((one) => (one.task === task ? one.request : [])),
        id,
      ),
    };
  });
  return formatTable(COLUMNS, rows, terminal);
};

/**
 * Counts tasks by how they stand, and says what they used and what it cost to wake agents with their ends, such as
 * `2 running · 1 waits for you · 41.2k tokens · $0.42 · 3 wakes: $0.12`.
 */
export const summaryLine = (tasks: readonly ApiTask[], usage: Usage): string => {
  const counts = countWords(countTasks(tasks)).map(({ text }) => text);
  const used = usage.tokens > 0 ? [`${compactNumber(usage.tokens)} tokens`] : [];
  const wakes = wakesInShort(addUpWakes(tasks.map(({ progress }) => progress.wakeCosts)));
  return [...counts, ...used, ...(usage.cost > 0 ? [dollars(usage.cost)] : []), ...(wakes ? [wakes] : [])].join(" · ");
};

const fill = (text: string, columns: number): string => " ".repeat(Math.max(0, columns - columnsOf(text)));

/** A column of a table. */
export interface Column {
  title: string;
  align?: "right";
  /** Left out on a screen that is too narrow, the column with the highest number first. Absent: always shown. */
  drop?: number;
}

/** A cell: text on one line, without control characters. */
interface Cell {
  text: string;
  style?: Style;
}

/** A row, and lines that stand below it, from its second column on. */
export interface TableRow {
  cells: Cell[];
  below?: Cell[];
}

const GAP = "  ";

/** Columns that the last column gets at least, as long as there is another that can be left out. */
const LEAST_LAST = 24;

/** Where the columns of a table fit on a screen: the indexes of those that are shown, and their widths. */
const fitColumns = (columns: readonly Column[], rows: readonly TableRow[], screen: number) => {
  const natural = columns.map(({ title }, index) =>
    Math.max(columnsOf(title), ...rows.map(({ cells }) => columnsOf(cells[index]?.text ?? ""))),
  );
  let shown = columns.map((_, index) => index);
  for (;;) {
    const last = shown.at(-1) ?? 0;
    const used = shown.slice(0, -1).reduce((sum, index) => sum + (natural[index] ?? 0) + GAP.length, 0);
    const left = screen - used;
    const droppable = shown.filter((index) => columns[index]?.drop !== undefined);
    if (left >= Math.min(LEAST_LAST, natural[last] ?? 0) || droppable.length === 0) {
      return { shown, widths: natural.with(last, Math.max(1, left)) };
    }
    const [worst] = droppable.sort((one, other) => (columns[other]?.drop ?? 0) - (columns[one]?.drop ?? 0));
    shown = shown.filter((index) => index !== worst);
  }
};

/** Formats a table as wide as the screen at most. The last column gets what the others leave, and is cut. */
export const formatTable = (columns: readonly Column[], rows: readonly TableRow[], screen: Terminal): string[] => {
  const { shown, widths } = fitColumns(columns, rows, screen.columns);
  const last = shown.at(-1);

  const format = (cells: readonly (Cell | undefined)[]): string =>
    shown
      .map((index) => {
        const { text = "", style } = cells[index] ?? {};
        const width = widths[index] ?? 0;
        const fitted = cut(text, width);
        const painted = style === undefined || fitted === "" ? fitted : screen.style(style, fitted);
        if (columns[index]?.align === "right") return fill(fitted, width) + painted;
        return index === last ? painted : painted + fill(fitted, width);
      })
      .join(GAP)
      .trimEnd();

  const indent = GAP.length + (widths[shown[0] ?? 0] ?? 0);
  const below = ({ text, style }: Cell): string => {
    const fitted = cut(text, screen.columns - indent);
    return " ".repeat(indent) + (style === undefined ? fitted : screen.style(style, fitted));
  };

  return [
    format(columns.map(({ title }): Cell => ({ text: title, style: "dim" }))),
    ...rows.flatMap((row) => [format(row.cells), ...(row.below ?? []).map(below)]),
  ];
};
