import type { ApiTask } from "../client/api-types.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { compactNumber, dollars, shortTime } from "../services/text/amounts.ts";
import { onServer } from "../services/text/model-and-server.ts";
import { requestLine } from "../services/text/request-text.ts";
import { incompleteInShort } from "../services/text/result-text.ts";
import { runTime, stateOf, type Urgency, urgencyOf } from "../services/text/task-state.ts";
import { hasEnded, type Usage } from "../task.ts";
import { PROGRAM } from "./command.ts";
import { type Cell, type Column, formatTable, type TableRow } from "./table.ts";
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

/** Returns how a task stands in one or two words, as a cell of a table. */
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
  return toSingleLine([task.description, task.error?.message ?? incomplete].filter(Boolean).join(": "));
};

const requestsOf = (task: ApiTask, id: string): Cell[] => {
  const requests = task.attention?.requests ?? [];
  const lines = requests.map((request): Cell => ({ text: requestLine(request), style: "yellow" }));
  return lines.length === 0 ? [] : [...lines, { text: `answer with: ${PROGRAM} answer ${id}`, style: "dim" }];
};

/** Formats tasks as a table: what waits for a person first, with what it asks. `now` is epoch milliseconds. */
export const taskTable = (tasks: readonly ApiTask[], terminal: Terminal, now: number): string[] => {
  const ids = shortIds(tasks.map(({ sessionID }) => sessionID));
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
      below: requestsOf(task, id),
    };
  });
  return formatTable(COLUMNS, rows, terminal);
};

const NAMES: Record<Urgency, string> = {
  asks: "waiting for you",
  silent: "silent",
  working: "running",
  queued: "queued",
  ended: "ended",
};

/** Counts tasks by how they stand, and says what they used, such as `2 running · 1 waiting for you · 41.2k tokens · $0.42`. */
export const summaryLine = (tasks: readonly ApiTask[], usage: Usage): string => {
  const urgencies = tasks.map(urgencyOf);
  const counts = (Object.keys(NAMES) as Urgency[]).flatMap((urgency) => {
    const count = urgencies.filter((each) => each === urgency).length;
    return count === 0 ? [] : [`${count} ${NAMES[urgency]}`];
  });
  const tokens = usage.tokens > 0 ? [`${compactNumber(usage.tokens)} tokens`] : [];
  return [...counts, ...tokens, ...(usage.cost > 0 ? [dollars(usage.cost)] : [])].join(" · ");
};
