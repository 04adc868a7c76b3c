import type { ApiFleet, ApiTask } from "../../client/api-types.ts";
import { columnsOf } from "../../services/platform/columns.ts";
import { dollars, shortTime } from "../../services/text/amounts.ts";
import { fleetProblem, fleetSummary } from "../../services/text/model-and-server.ts";
import { runTime } from "../../services/text/task-state.ts";
import { hasEnded } from "../../task.ts";
import { branchOf, cutText, type Line, muted, type Segment, spread, warningLines } from "./line.ts";
import { ACTION_KEYS, isForMany, type ListState, placeOf, refusalOf, type TaskAction } from "./list-state.ts";
import { countSegments, inCents, summarize } from "./panel-lines.ts";
import { type Row, rowStatusOf, rowsOf } from "./tasks.ts";

/** The tasks of the list, by where they belong. */
export interface ListedTasks {
  /** Of the conversation that is shown, in the order of their launch. */
  here: readonly ApiTask[];
  /** Of the other conversations; of all where none is shown. */
  elsewhere: readonly ApiTask[];
}

export interface ListRow extends Row {
  isHere: boolean;
}

const matches = ({ task }: Row, query: string): boolean =>
  [task.description, task.agent, task.status, task.sessionID].join(" ").toLowerCase().includes(query.toLowerCase());

/** Returns the rows that match the search: those of this conversation first. */
export const listRows = ({ here, elsewhere }: ListedTasks, { query }: ListState): ListRow[] =>
  [
    ...rowsOf(here).map((row) => ({ ...row, isHere: true })),
    ...rowsOf(elsewhere).map((row) => ({ ...row, isHere: false })),
  ].filter((row) => matches(row, query.trim()));

export interface ListLayout {
  columns: number;
  /** Rows of tasks that are shown at once. */
  rows: number;
  /** Epoch milliseconds. */
  now: number;
  /** The tasks that are marked, shown or not. */
  marked: readonly ApiTask[];
  /** Why what is shown may be out of date or incomplete: stands above the list. */
  problem?: string | undefined;
  /** What is known of the fleet: stands below the list. Undefined: nothing. */
  fleet?: ApiFleet | undefined;
}

/** Columns from which a row also has the agent and what it does. */
const COLUMNS_FOR_DETAIL = 72;

const TIME_COLUMNS = 7;
const COST_COLUMNS = 8;

/** Returns a text cut, or filled with spaces, to that many columns. */
const filled = (text: string, columns: number): string => {
  const short = cutText(text, columns);
  return short + " ".repeat(columns - columnsOf(short));
};

/** Writes who works on a task, and what it does. */
const detailOf = (row: ListRow): string => `${row.task.agent} · ${rowStatusOf(row).words}`;

/** Returns how many columns the details of these rows get: what they need, and at most two fifths of the line. */
const detailColumns = (rows: readonly ListRow[], columns: number): number =>
  columns < COLUMNS_FOR_DETAIL
    ? 0
    : Math.min(Math.floor(columns * 0.4), Math.max(0, ...rows.map((row) => columnsOf(detailOf(row)))));

/** Says whether a row is marked, where any is. */
const markOf = ({ task }: ListRow, marked: readonly ApiTask[]): Segment[] =>
  marked.length === 0 ? [] : [{ text: marked.includes(task) ? "◆ " : "  ", tone: "accent" }];

const rowLine = (row: ListRow, isSelected: boolean, room: number, { columns, now, marked }: ListLayout): Line => {
  const { task, depth, request } = row;
  const { sign, tone } = rowStatusOf(row);
  const isLive = !hasEnded(task);
  const cost = task.usage.cost > 0 ? dollars(inCents(task.usage).cost) : "";
  const time = shortTime(runTime(task, now)).padStart(TIME_COLUMNS);
  const detail = filled(detailOf(row), room);
  const tail: Segment[] = [
    { text: detail, tone: request ? tone : "muted" },
    muted(`${time} ${cost.padStart(COST_COLUMNS)}`),
  ];
  const what: Segment = {
    text: task.description,
    tone: request ? "warning" : isLive || isSelected ? "text" : "muted",
    ...(isSelected && { bold: true }),
  };
  const head: Segment[] = [
    { text: isSelected ? "› " : "  ", tone: "accent" },
    ...markOf(row, marked),
    branchOf(depth),
    { text: `${sign} `, tone },
  ];
  return { taskId: task.sessionID, segments: spread(head, what, tail, columns) };
};

/** Returns the first row to show, so that the selected one is among those that fit. */
const firstShown = (place: number, count: number, rows: number): number =>
  Math.max(0, Math.min(place - Math.floor(rows / 2), count - rows));

const searchLine = ({ query, isSearching }: ListState): Line => {
  if (!isSearching && query === "") return { segments: [muted("/ to search")] };
  return { segments: [muted("Search: "), { text: `${query}${isSearching ? "▏" : ""}`, tone: "text" }] };
};

/** The keys of the list itself. */
const LIST_KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ["space", "mark"],
  ["*", "mark all"],
  ["/", "search"],
  ["b", "back"],
  ["esc", "close"],
];

const keysLine = (keys: readonly (readonly [key: string, meaning: string])[], columns: number): Line => {
  const segments: Segment[] = [];
  let used = 0;
  for (const [key, meaning] of keys) {
    const gap = used === 0 ? "" : "  ";
    used += columnsOf(`${gap}${key} ${meaning}`);
    if (used > columns) break;
    segments.push({ text: `${gap}${key}`, tone: "text" }, muted(` ${meaning}`));
  }
  return { segments };
};

/** Writes the keys that make sense for the selected task, or for those that are marked, and below them those of the list. */
const keysLines = (task: ApiTask | undefined, marked: readonly ApiTask[], columns: number): Line[] => {
  const may = (action: TaskAction) => {
    if (marked.length > 0) return isForMany(action) && marked.some((one) => refusalOf(action, one) === undefined);
    return task !== undefined && refusalOf(action, task) === undefined;
  };
  const offered = ACTION_KEYS.filter(({ action }) => may(action));
  return [offered.map(({ shown, action }) => [shown, action] as const), LIST_KEYS].map((keys) =>
    keysLine(keys, columns),
  );
};

/** Writes the list: what is searched, the tasks, the fleet, and the keys for the one that is selected. */
export const listLines = (rows: readonly ListRow[], state: ListState, layout: ListLayout): Line[] => {
  const { columns, problem } = layout;
  const place = placeOf(
    state,
    rows.map(({ task }) => task.sessionID),
  );
  const selected = rows[place];
  const first = firstShown(place, rows.length, layout.rows);
  const shown = rows.slice(first, first + layout.rows);
  const hidden = rows.length - shown.length;
  const nothing = state.query === "" ? "No task was launched here." : "No task matches.";
  const room = detailColumns(shown, columns);
  const hasOwn = rows.some(({ isHere }) => isHere);
  const lines = shown.flatMap((row, index): Line[] => {
    const isFirstElsewhere = !row.isHere && (index === 0 || shown[index - 1]?.isHere === true);
    const line = rowLine(row, row === selected, room, layout);
    return isFirstElsewhere && hasOwn ? [{ segments: [muted("Other conversations")] }, line] : [line];
  });
  const counts = countSegments(summarize(rows.map(({ task }) => task)));
  const { marked } = layout;
  const title = marked.length === 0 ? "Tasks" : `Tasks · ${marked.length} marked`;
  return [
    { segments: spread([], { text: title, tone: "text", bold: true }, counts, columns) },
    searchLine(state),
    ...warningLines(problem, columns),
    { segments: [] },
    ...(lines.length === 0 ? [{ segments: [muted(nothing)] }] : lines),
    ...(hidden > 0 ? [{ segments: [muted(`  ${place + 1} of ${rows.length}`)] }] : []),
    { segments: [] },
    ...fleetLines(layout.fleet, columns),
    ...keysLines(selected?.task, marked, columns),
  ];
};

/** Lines that the reason takes at most why the servers are not known: the list is about tasks. */
const MAX_REASON_LINES = 2;

/**
 * Writes in one line which servers the fleet has and how many tasks wait; below it, why the servers are not known. Nothing
 * where no fleet is used, and where nothing is known of it (`undefined`).
 */
export const fleetLines = (fleet: ApiFleet | undefined, columns: number): Line[] => {
  if (!fleet?.isUsed) return [];
  const summary = fleetSummary(fleet);
  const problem = fleetProblem(fleet);
  return [
    ...(summary === ""
      ? []
      : [{ segments: [{ text: cutText(`Fleet: ${summary}`, columns), tone: "muted" as const }] }]),
    ...warningLines(problem, columns, MAX_REASON_LINES),
  ];
};
