import { duration, formatUsage, formatUsageWithin } from "../../services/text/amounts.ts";
import { instructionsReport, missedInShort } from "../../services/text/instruction-text.ts";
import { modelName, wentOn } from "../../services/text/model-and-server.ts";
import { overlapSummary, sharedFiles } from "../../services/text/overlap-text.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine } from "../../services/text/own-text.ts";
import { attentionSummary, SHORT_CHARS } from "../../services/text/request-text.ts";
import {
  EARLIER_TEXT,
  fenceResult,
  incompleteInShort,
  quoteError,
  receiptReport,
  whyIncomplete,
} from "../../services/text/result-text.ts";
import { nextRunSummary, queueSummary, waitText } from "../../services/text/task-state.ts";
import { worktreeReport } from "../../services/text/worktree-text.ts";
import {
  addUp,
  countTasks,
  entryOf,
  hasEnded,
  hasPartialResult,
  type ListedTask,
  listedTask,
  type Progress,
  type Task,
  type TaskEntry,
  type TaskWithUsage,
  type Usage,
  type WorktreeChanges,
} from "../../task.ts";

/** Writes a task's id, marked as `(resumed)` or `(forked)` where it is. */
export const formatTaskId = ({
  sessionID,
  resumeCount,
  isForked,
}: Pick<Task, "sessionID" | "resumeCount" | "isForked">): OwnText =>
  join([nameOf(sessionID), resumeCount > 0 ? own`(resumed)` : undefined, isForked ? own`(forked)` : undefined], " ");

/** Writes how long the newest run took, or has taken by `now` (epoch milliseconds). */
const runDuration = ({ runBeganAt, runEndedAt }: TaskEntry, now: number): OwnText =>
  duration((runEndedAt ?? now) - runBeganAt);

const formatAttention = (task: Pick<Task, "attention">): OwnText | undefined => {
  const waiting = attentionSummary(task);
  return waiting ?? (task.attention && own`no activity since ${nameOf(task.attention.since)}`);
};

/** Writes what a task waits for, unless its agent is at work. */
const formatWait = (task: ListedTask, now: number): OwnText | undefined => {
  if (task.waiting?.for === "agent") return undefined;
  const waits = waitText(task, now);
  return waits && own`waits for ${waits}`;
};

/** Writes a task as one line of a list. */
const formatTaskLine = (task: ListedTask, usage: Usage, now: number): OwnText =>
  join(
    [
      own`- ${formatTaskId(task)}`,
      own`${task.status}`,
      nameOf(task.agent),
      quoteLine(task.description),
      runDuration(task, now),
      formatUsage(usage),
      wentOn(task),
      incompleteInShort(task),
      nextRunSummary(task),
      missedInShort(task.missedInstructions),
      formatAttention(task) ?? queueSummary(task) ?? formatWait(task, now),
      hasEnded(task) ? undefined : sharedFiles(task.overlaps),
    ],
    " · ",
  );

/** Writes in few words how a task stands that was asked for before. */
export const formatStanding = (task: TaskWithUsage, now: number): OwnText => {
  const listed = listedTask(task);
  const { toolCalls } = task.progress;
  return join(
    [
      own`${task.status} for ${runDuration(listed, now)}`,
      own`${toolCalls} tool ${toolCalls === 1 ? "call" : "calls"}`,
      nextRunSummary(task),
      formatAttention(task) ?? queueSummary(task) ?? formatWait(listed, now),
    ],
    " · ",
  );
};

/** Writes the first paragraph of a task's result, or its error, on one line; undefined if it has neither. */
const formatOutcome = ({ status, summary, error }: Task): OwnText | undefined => {
  if (status === "completed") return summary ? quoteLine(summary, SHORT_CHARS) : undefined;
  return error && quoteError(error, SHORT_CHARS);
};

/** Writes how many tasks of a batch have ended, and what they used. */
export const batchHeading = (batchId: string, tasks: Pick<Task, "status">[], usage: Usage): OwnText => {
  const { ended, total } = countTasks(tasks);
  return join([own`Batch ${nameOf(batchId)}: ${ended}/${total} ended`, formatUsage(usage)], " · ");
};

/** Writes a batch: how many of its tasks have ended, and a line for each task with its outcome. */
export const formatBatch = (batchId: string, tasks: TaskWithUsage[], now: number): OwnText => {
  const withOutcome = (task: TaskWithUsage) => {
    const line = formatTaskLine(listedTask(task), task.usage, now);
    const outcome = formatOutcome(task);
    return outcome === undefined ? line : own`${line}: ${outcome}`;
  };
  const usage = addUp(tasks.map((task) => task.usage));
  return lines(batchHeading(batchId, tasks, usage), ...tasks.map(withOutcome));
};

/** Bytes and lines of a list: OpenCode cuts an answer over 50 kB or 2,000 lines (1.18.33), at any place. */
const MAX_BYTES = 45_000;
const MAX_LINES = 1_900;

/** A batch as a list shows it. */
interface ListedBatch {
  batchId: string;
  heading: OwnText;
  /** A line for each of its tasks that is shown. */
  lines: OwnText[];
  isLive: boolean;
}

const bytes = (texts: readonly OwnText[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);

/**
 * Returns the batches that a list shows task by task: those with a live task, and the newest ones, as long as all of it has at
 * most so many tasks, and is not cut by OpenCode.
 */
const openBatches = (batches: readonly ListedBatch[], maxTasks: number | undefined): Set<string> => {
  const headings = batches.map(({ heading }) => heading);
  const listed = { tasks: 0, bytes: bytes(headings) };
  return new Set(
    batches.toReversed().flatMap(({ batchId, lines, isLive }, index) => {
      listed.tasks += lines.length;
      listed.bytes += bytes(lines);
      const fits =
        listed.tasks <= (maxTasks ?? MAX_LINES) &&
        listed.tasks + headings.length <= MAX_LINES &&
        listed.bytes <= MAX_BYTES;
      return index === 0 || fits || isLive ? [batchId] : [];
    }),
  );
};

/** What a list shows. */
interface ListStyle {
  /** Only those that pass are listed; counts and costs include all. */
  shown(task: ListedTask): boolean;
  usageOf(task: ListedTask): Usage;
  /** Epoch milliseconds. */
  now: number;
  /** The tool that lists a batch. */
  outputTool: string;
  /** Tasks that have a line each; undefined: as many as an answer may have. */
  maxTasks: number | undefined;
}

/**
 * Writes tasks grouped by batch, and what all used: a line for each task; where they are too many, for those of the newest batches
 * and of those that have not ended, and the heading alone of older ones.
 */
export const formatTaskList = (
  tasks: ListedTask[],
  { shown, usageOf, now, outputTool, maxTasks }: ListStyle,
): OwnText => {
  const usages = (some: ListedTask[]): Usage => addUp(some.map(usageOf));
  const all = [...Map.groupBy(tasks, ({ batchId }) => batchId)];
  const batches = all.flatMap(([batchId, batch]): ListedBatch[] => {
    const lines = batch.filter(shown).map((task) => formatTaskLine(task, usageOf(task), now));
    const heading = batchHeading(batchId, batch, usages(batch));
    return lines.length === 0 ? [] : [{ batchId, heading, lines, isLive: !batch.every(hasEnded) }];
  });
  const open = openBatches(batches, maxTasks);
  const listed = batches.flatMap(({ batchId, heading, lines }) => [heading, ...(open.has(batchId) ? lines : [])]);
  const sum = listed.length > 0 && all.length > 1 ? formatUsage(usages(tasks)) : undefined;
  const isShortened = open.size < batches.length;
  return lines(
    ...listed,
    sum && own`All tasks: ${sum}`,
    isShortened
      ? own`Older batches show no tasks here: ${nameOf(outputTool)} with batch_id lists those of one.`
      : undefined,
  );
};

const formatToolCalls = ({ toolCallsByName }: Progress): OwnText =>
  join(
    Object.entries(toolCallsByName).map(([name, count]) => own`${nameOf(name)} ${count}`),
    ", ",
  );

const formatProgress = (task: Task, now: number): OwnText => {
  const { toolCalls, lastTools, lastUpdate } = task.progress;
  const last = join(lastTools.map(nameOf), ", ");
  return lines(
    toolCalls === 0
      ? "Tool calls: none"
      : own`Tool calls: ${toolCalls} (${formatToolCalls(task.progress)}); last: ${last}`,
    own`Last activity: ${duration(now - Date.parse(lastUpdate))} ago`,
  );
};

/** Writes what a task cost with its subtasks, and what of that its own runs did. */
const formatTaskUsage = ({ usage, progress }: TaskWithUsage): OwnText | undefined => {
  const used = formatUsageWithin(usage, [{ name: "its own runs", usage: progress }]);
  return used && own`Cost: ${used}`;
};

/** Returns the state of the run under way: `state` is the status, a dot, and that. */
const runStateOf = ({ state, status }: Task): string => state.slice(`${status}.`.length);

const formatModel = ({ model }: Task): OwnText => (model ? own`, model ${nameOf(modelName(model))}` : own``);

/** Describes what the result is where it is not the answer of the newest run. */
const resultHeading = (task: Task): OwnText | "" => {
  if (task.result === undefined) return "";
  const incomplete = whyIncomplete(task);
  if (task.status === "completed") {
    if (incomplete) return own`Its result ${incomplete}:`;
    return task.result === "" ? own`It finished without a result: its last message has no text.` : "";
  }
  if (task.error?.kind === "gate") return own`Its last answer, which did not pass the gate:`;
  if (task.error?.kind === "schema") return own`Its last answer, which did not fit its schema:`;
  return hasPartialResult(task)
    ? own`Partial result, written before the run was stopped:`
    : own`Result of the previous run${incomplete ? own`, which ${incomplete}` : own``}:`;
};

/**
 * Writes a task's status, progress and, if it has one, its result. `now` is epoch milliseconds, `changes` what it left
 * changed in its worktree.
 */
export const formatReport = (task: TaskWithUsage, now: number, changes?: WorktreeChanges): OwnText => {
  const ended = hasEnded(task);
  const status = own`Status: ${task.status} ${ended ? "after" : "for"} ${runDuration(entryOf(task), now)}`;
  const attention = formatAttention(task);
  const waits = waitText(task, now);
  const otherModel = wentOn(task);
  const goesOn = nextRunSummary(task);
  return lines(
    own`Task ${formatTaskId(task)}: ${quoteLine(task.description)} (agent ${nameOf(task.agent)}${formatModel(task)})`,
    ended ? join([status, goesOn], ", ") : own`${status} (${nameOf(runStateOf(task))})`,
    otherModel && own`Model: ${otherModel}`,
    attention === undefined ? "" : own`Attention: ${attention}`,
    waits === undefined ? "" : own`Waits for: ${waits}`,
    instructionsReport(task),
    ended ? "" : formatProgress(task, now),
    formatTaskUsage(task),
    task.priority === 0 ? "" : own`Priority: ${task.priority}`,
    worktreeReport(task, changes),
    task.error && own`Error: ${quoteError(task.error)}`,
    task.receipt && receiptReport(task.receipt),
    overlapSummary(task.progress.overlaps, task.parentSessionID),
    resultHeading(task),
    task.result === undefined ? "" : fenceResult(task.result, task.sessionID),
    ...(task.earlierText === undefined ? [] : [own`${EARLIER_TEXT}:`, fenceResult(task.earlierText, task.sessionID)]),
  );
};
