import type { ApiTask } from "../client/api-types.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dollars } from "../services/text/dollars.ts";
import { incompleteInShort } from "../services/text/incomplete.ts";
import { onServer } from "../services/text/server.ts";
import { compactNumber } from "../services/text/usage.ts";
import { requestLine } from "../services/text/user-request.ts";
import { addUp, type Usage } from "../task.ts";
import { PROGRAM } from "./command.ts";
import { type Cell, type Column, formatTable, type Row } from "./table.ts";
import { byUrgency, RANK, runTime, shortIds, shortTime, standing } from "./task-words.ts";
import type { Terminal } from "./terminal.ts";

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
  const rows = tasks.toSorted(byUrgency).map((task): Row => {
    const id = toSingleLine(ids.get(task.sessionID) ?? task.sessionID);
    const { rank, ...state } = standing(task);
    const about: Cell = { text: aboutOf(task), ...(rank === RANK.ended ? { style: "dim" } : {}) };
    return {
      cells: [
        { text: id, style: "bold" },
        state,
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

const NAMES = { asks: "waiting for you", silent: "silent", live: "running", queued: "queued", ended: "ended" } as const;

/** Returns what some tasks used: of their own runs, so that a task below another one counts once. */
export const ownUsage = (tasks: readonly ApiTask[]): Usage => addUp(tasks.map(({ progress }) => progress));

/** Returns what some tasks used with all tasks below them. One that another of them launched counts with that one. */
export const usageWithBelow = (tasks: readonly ApiTask[]): Usage => {
  const ids = new Set(tasks.map(({ sessionID }) => sessionID));
  return addUp(tasks.flatMap(({ parentTaskId, usage }) => (ids.has(parentTaskId ?? "") ? [] : usage)));
};

/** Says how many tasks stand how, and what they used, such as `2 running · 1 waiting for you · 41.2k tokens · $0.42`. */
export const summaryLine = (tasks: readonly ApiTask[], usage: Usage): string => {
  const ranks = tasks.map((task) => standing(task).rank);
  const counts = Object.entries(RANK).flatMap(([name, rank]) => {
    const count = ranks.filter((each) => each === rank).length;
    return count === 0 ? [] : [`${count} ${NAMES[name as keyof typeof NAMES]}`];
  });
  const tokens = usage.tokens > 0 ? [`${compactNumber(usage.tokens)} tokens`] : [];
  return [...counts, ...tokens, ...(usage.cost > 0 ? [dollars(usage.cost)] : [])].join(" · ");
};
