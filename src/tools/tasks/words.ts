import { askedIn, IN_SHORT } from "../../services/asked.ts";
import { duration, quote } from "../../services/notices.ts";
import { inShort } from "../../services/plain.ts";
import { hasEnded, type Progress, type Task } from "../../task.ts";

/** The task's id with what is special about it. */
export const labelOf = ({ sessionID, resumeCount, isForked }: Task): string =>
  [sessionID, resumeCount > 0 ? "(resumed)" : "", isForked ? "(forked)" : ""].filter(Boolean).join(" ");

/** How long the newest run took, or has taken by `now` (epoch milliseconds). */
const tookBy = ({ runStartedAt, completedAt }: Task, now: number): string =>
  duration((completedAt === undefined ? now : Date.parse(completedAt)) - Date.parse(runStartedAt));

const attentionOf = (task: Task): string => {
  const asked = askedIn(task);
  if (asked !== undefined) return `waits for a person: ${asked}`;
  return task.attention ? `no sign of life since ${task.attention.since}` : "";
};

/** One line for a list. */
export const lineOf = (task: Task, now: number): string =>
  [`- ${labelOf(task)}`, task.status, task.agent, `"${task.description}"`, tookBy(task, now), attentionOf(task)]
    .filter(Boolean)
    .join(" · ");

/** What came of a task, in one line: the first paragraph of its result, or its error. */
const gistOf = ({ status, summary, error }: Task): string => {
  const words = status === "completed" ? summary : error && `${error.name}: ${error.message}`;
  return inShort(words ?? "", IN_SHORT);
};

const headOf = (batchId: string, tasks: Task[]): string =>
  `Batch ${batchId}: ${tasks.filter(hasEnded).length}/${tasks.length} ended`;

/** A batch: how far it is, and a line for each task with what came of it. */
export const batchOf = (batchId: string, tasks: Task[], now: number): string =>
  [headOf(batchId, tasks), ...tasks.map((task) => [lineOf(task, now), gistOf(task)].filter(Boolean).join(": "))].join(
    "\n",
  );

/** Tasks by batch, a line each. `shown` says which of them are listed; the counts are of all. */
export const listOf = (tasks: Task[], shown: (task: Task) => boolean, now: number): string =>
  [...Map.groupBy(tasks, ({ batchId }) => batchId)]
    .filter(([, batch]) => batch.some(shown))
    .map(([batchId, batch]) =>
      [headOf(batchId, batch), ...batch.filter(shown).map((task) => lineOf(task, now))].join("\n"),
    )
    .join("\n");

const countsOf = ({ toolCallsByName }: Progress): string =>
  Object.entries(toolCallsByName)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

const progressOf = (task: Task, now: number): string[] => {
  const { toolCalls, lastTools, lastUpdate, tokens, cost } = task.progress;
  const calls = toolCalls === 0 ? "none" : `${toolCalls} (${countsOf(task.progress)}); last: ${lastTools.join(", ")}`;
  return [
    `Tool calls: ${calls}`,
    `Last activity: ${duration(now - Date.parse(lastUpdate))} ago`,
    `Used: ${tokens} tokens, $${cost.toFixed(4)}`,
  ];
};

/** A task in a few lines: how it stands and, once there, what it answered. `now` is epoch milliseconds. */
export const reportOf = (task: Task, now: number): string => {
  const ended = hasEnded(task);
  const status = `Status: ${task.status} ${ended ? "after" : "for"} ${tookBy(task, now)}`;
  return [
    `Task ${labelOf(task)}: "${task.description}" (agent ${task.agent})`,
    ended ? status : `${status} (${task.state.split(".").slice(1).join(".")})`,
    attentionOf(task) && `Attention: ${attentionOf(task)}`,
    ...(ended ? [] : progressOf(task, now)),
    task.priority === 0 ? "" : `Priority: ${task.priority}`,
    task.error && `Error: ${task.error.name}: ${task.error.message}`,
    task.result !== undefined && task.status !== "completed" && "The result before that:",
    task.result !== undefined && quote(task.result, task.sessionID),
  ]
    .filter(Boolean)
    .join("\n");
};
