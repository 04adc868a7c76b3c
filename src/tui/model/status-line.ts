import { columnsOf } from "../../services/platform/columns.ts";
import { formatCost } from "../../services/text/amounts.ts";
import { isQueued } from "../../services/text/task-state.ts";
import { addUp, hasEnded, type Usage } from "../../task.ts";
import { cutText, type Segment } from "./line.ts";
import { openRequests, type PanelTask, standingOf } from "./tasks.ts";

const CENT = 0.01;

/** Returns a cost to the cent, as OpenCode writes it beside the panel. What is less than a cent stays as it is. */
export const inCents = ({ tokens, cost }: Usage): Usage => ({
  tokens,
  cost: cost < CENT ? cost : Math.round(cost / CENT) * CENT,
});

/** The sums over the tasks of a conversation. Each task that has not ended counts in one of the first three. */
interface Summary {
  /** Tasks whose own request a person has to answer. */
  waitingForPerson: number;
  running: number;
  /** Tasks that wait for a slot, or for a server of the fleet. */
  queued: number;
  ended: number;
  /** What all tasks used together. */
  usage: Usage;
}

/** Counts the tasks of a conversation, and adds up what they used. */
export const summarize = (tasks: readonly PanelTask[]): Summary => {
  const asking = new Set(openRequests(tasks).map(({ task }) => task.sessionID));
  const live = tasks.filter((task) => !hasEnded(task) && !asking.has(task.sessionID));
  const queued = live.filter(isQueued).length;
  return {
    waitingForPerson: asking.size,
    running: live.length - queued,
    queued,
    ended: tasks.filter(hasEnded).length,
    usage: addUp(tasks.map(({ progress }) => progress)),
  };
};

/** True when something goes on, or waits for a person. */
export const isActive = ({ waitingForPerson, running, queued }: Summary): boolean =>
  waitingForPerson + running + queued > 0;

const separator: Segment = { text: " · ", tone: "muted" };

/** Writes how many tasks run, wait for a person (highlighted), and wait for a slot. */
export const countSegments = ({ waitingForPerson, running, queued }: Summary): Segment[] => {
  const parts: (Segment & { count: number })[] = [
    { count: running, text: `${running} running`, tone: "text" },
    {
      count: waitingForPerson,
      text: `${waitingForPerson} ${waitingForPerson === 1 ? "waits" : "wait"} for you`,
      tone: "warning",
    },
    { count: queued, text: `${queued} queued`, tone: "muted" },
  ];
  const shown = parts.filter(({ count }) => count > 0).map(({ count: _, ...segment }) => segment);
  return shown.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
};

/** Writes the line beside the prompt: `3 running · 1 waits for you · $0.42`. Nothing when no task goes on. */
export const statusLine = (summary: Summary): Segment[] => {
  if (!isActive(summary)) return [];
  const cost = formatCost(inCents(summary.usage));
  return [
    ...countSegments(summary),
    ...(cost === undefined ? [] : [separator, { text: cost, tone: "muted" as const }]),
  ];
};

/** Columns of a task's description in a line at most: what goes on, and the way back, are to fit beside it. */
const MAX_DESCRIPTION_COLUMNS = 32;

/** What the line in the session of a task says, besides what goes on. */
interface TaskPlace {
  task: PanelTask;
  /** The key that leads back, as the user presses it; undefined if there is none. */
  backKey: string | undefined;
  columns: number;
}

/** Writes the line in the session of a task: which task it is, what goes on around it, and the key that leads back. */
export const taskStatusLine = (summary: Summary, { task, backKey, columns }: TaskPlace): Segment[] => {
  const { sign, tone } = standingOf({ task, depth: 0 });
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
