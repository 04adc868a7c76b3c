import { duration, fenceResult, quoteError } from "../../services/text/notice.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine } from "../../services/text/own-text.ts";
import { attentionSummary, SHORT_CHARS } from "../../services/text/user-request.ts";
import { countTasks, hasEnded, type Progress, type Task } from "../../task.ts";

/** The task's id with what is special about it. */
export const labelOf = ({ sessionID, resumeCount, isForked }: Task): OwnText =>
  join([nameOf(sessionID), resumeCount > 0 ? own`(resumed)` : undefined, isForked ? own`(forked)` : undefined], " ");

/** How long the newest run took, or has taken by `now` (epoch milliseconds). */
const tookBy = ({ runStartedAt, completedAt }: Task, now: number): OwnText =>
  duration((completedAt === undefined ? now : Date.parse(completedAt)) - Date.parse(runStartedAt));

const attentionOf = (task: Task): OwnText | undefined => {
  const asked = attentionSummary(task);
  if (asked !== undefined) return own`waits for a person: ${asked}`;
  return task.attention && own`no sign of life since ${nameOf(task.attention.since)}`;
};

/** One line for a list. */
export const formatTaskLine = (task: Task, now: number): OwnText =>
  join(
    [
      own`- ${labelOf(task)}`,
      own`${task.status}`,
      nameOf(task.agent),
      quoteLine(task.description),
      tookBy(task, now),
      attentionOf(task),
    ],
    " · ",
  );

/** What came of a task, in one line: the first paragraph of its result, or its error. */
const gistOf = ({ status, summary, error }: Task): OwnText | undefined => {
  if (status === "completed") return summary ? quoteLine(summary, SHORT_CHARS) : undefined;
  return error && quoteError(error, SHORT_CHARS);
};

const headOf = (batchId: string, tasks: Task[]): OwnText => {
  const { ended, total } = countTasks(tasks);
  return own`Batch ${nameOf(batchId)}: ${ended}/${total} ended`;
};

/** A batch: how far it is, and a line for each task with what came of it. */
export const formatBatch = (batchId: string, tasks: Task[], now: number): OwnText => {
  const withGist = (task: Task) => {
    const gist = gistOf(task);
    return gist === undefined ? formatTaskLine(task, now) : own`${formatTaskLine(task, now)}: ${gist}`;
  };
  return lines(headOf(batchId, tasks), ...tasks.map(withGist));
};

/** Tasks by batch, a line each. `shown` says which of them are listed; the counts are of all. */
export const formatTaskList = (tasks: Task[], shown: (task: Task) => boolean, now: number): OwnText =>
  lines(
    ...[...Map.groupBy(tasks, ({ batchId }) => batchId)]
      .filter(([, batch]) => batch.some(shown))
      .flatMap(([batchId, batch]) => [
        headOf(batchId, batch),
        ...batch.filter(shown).map((task) => formatTaskLine(task, now)),
      ]),
  );

const countsOf = ({ toolCallsByName }: Progress): OwnText =>
  join(
    Object.entries(toolCallsByName).map(([name, count]) => own`${nameOf(name)} ${count}`),
    ", ",
  );

const progressOf = (task: Task, now: number): OwnText => {
  const { toolCalls, lastTools, lastUpdate, tokens, cost } = task.progress;
  const last = join(lastTools.map(nameOf), ", ");
  return lines(
    toolCalls === 0 ? "Tool calls: none" : own`Tool calls: ${toolCalls} (${countsOf(task.progress)}); last: ${last}`,
    own`Last activity: ${duration(now - Date.parse(lastUpdate))} ago`,
    own`Used: ${tokens} tokens, $${nameOf(cost.toFixed(4))}`,
  );
};

/** A task in a few lines: how it stands and, once there, what it answered. `now` is epoch milliseconds. */
export const formatReport = (task: Task, now: number): OwnText => {
  const ended = hasEnded(task);
  const status = own`Status: ${task.status} ${ended ? "after" : "for"} ${tookBy(task, now)}`;
  const attention = attentionOf(task);
  return lines(
    own`Task ${labelOf(task)}: ${quoteLine(task.description)} (agent ${nameOf(task.agent)})`,
    ended ? status : own`${status} (${nameOf(task.state.split(".").slice(1).join("."))})`,
    attention === undefined ? "" : own`Attention: ${attention}`,
    ended ? "" : progressOf(task, now),
    task.priority === 0 ? "" : own`Priority: ${task.priority}`,
    task.error && own`Error: ${quoteError(task.error)}`,
    task.result !== undefined && task.status !== "completed" ? "The result before that:" : "",
    task.result === undefined ? "" : fenceResult(task.result, task.sessionID),
  );
};
