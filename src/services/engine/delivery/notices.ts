import { estimateTokenCount } from "tokenx";
import type { HostSession } from "../../../machines/host-events.ts";
import type { NoticePrompt } from "../../../machines/outbox/events.ts";
import type { Effect } from "../../../machines/supervisor/events.ts";
import type { RunResult } from "../../../machines/task/events.ts";
import { addUp, countTasks, type TaskEntry } from "../../../task.ts";
import { truncateLine } from "../../platform/plain-text.ts";
import { NEWEST_MESSAGES } from "../../runtime/run-outcome.ts";
import { besideResult, noticeOf, setAsideToast, toastOf, worstOutcome } from "../../text/notice-text.ts";
import { worktreeLine, worktreeReport } from "../../text/worktree-text.ts";
import type { EngineContext } from "../context.ts";

const TOAST_VARIANTS = { completed: "success", error: "error", cancelled: "info" } as const;

/** Returns what a notice says of what a task changed in its worktree; undefined where it has none of its own. */
const worktreeOf = ({ store, worktrees }: EngineContext, taskId: string) => {
  const task = store.get(taskId)?.task;
  if (!task?.worktree || task.worktree.isShared) return undefined;
  const changes = worktrees.changesOf(task);
  return { visible: worktreeLine(taskId, changes), hidden: worktreeReport(task, changes) };
};

/**
 * Composes one prompt from the queued results, in the order in which the runs ended, or from the first of them where its
 * reader has no room for all. It has a visible part for each, and a hidden one for all, since the host stores parts one after
 * the other, at 3 to 4 ms each (measured), before the parent's turn.
 * @param queue results of tasks that all have the same parent; none of them can be resumed before it is delivered
 * @param room as for `fitResults`
 */
export const composeNotice = (ctx: EngineContext, queue: RunResult[], room: number | undefined): NoticePrompt => {
  const { store, ids, runtime, progress, usageReader } = ctx;
  const { maxResultChars: most, ...words } = ctx.options.notice;
  const due = queue.toSorted((a, b) => a.endedAt - b.endedAt);
  const mayCut = words.tools.output !== undefined;
  const longest = Math.max(0, ...due.map(({ result, earlierText = "" }) => (result || earlierText).length));
  // Without a tool to read the rest of a result, the notice carries as much of it as there is room for.
  const limit = mayCut ? (most ?? longest) : longest;
  const style = { ...words, maxResultChars: limit };
  const siblings = store.list({ parentSessionID: due[0]?.parentSessionID ?? "" });
  const batches = Map.groupBy(siblings, ({ batchId }) => batchId);
  const all = due.map((end) => ({
    ...{ end, batch: countTasks(batches.get(end.batchId) ?? []) },
    ...{ receipt: runtime.receiptOf(end.taskId), worktree: worktreeOf(ctx, end.taskId) },
  }));
  const reported = all.map((ended) => {
    const { result, earlierText = "" } = ended.end;
    return { result: result || earlierText, beside: room === undefined ? "" : besideResult(ended, style) };
  });
  const { count, maxResultChars } = fitResults(reported, { limit, room, mayCut });
  const results = due.slice(0, count);
  // Taken once: only those that the prompt says.
  const ends = all
    .slice(0, count)
    .map((ended) => ({ ...ended, overlaps: progress.takeUntold(ended.end.taskId, "caller") }));
  const usageOf = usageReader.usageOf(siblings);
  const sumOf = (tasks: readonly TaskEntry[]) => addUp(tasks.map(usageOf));
  const delivered = new Set(results.map(({ taskId }) => taskId));
  const [batchId = "", ...otherBatches] = new Set(results.map((end) => end.batchId));
  const cost = {
    delivered: sumOf(siblings.filter(({ sessionID }) => delivered.has(sessionID))),
    batch: otherBatches.length === 0 ? sumOf(batches.get(batchId) ?? []) : undefined,
    session: sumOf(siblings),
  };
  const { visible, hidden } = noticeOf(ends, countTasks(siblings), { ...style, maxResultChars }, cost);
  const said = [...visible.map((text) => ({ text, synthetic: false })), { text: hidden, synthetic: true }];
  const partIDs = ids.parts(said.length);
  return {
    messageID: ids.message(),
    parts: said.map((part, index) => ({ id: partIDs[index] ?? "", ...part })),
    runs: results.map(({ taskId, run }) => ({ taskId, run })),
    toasts: [{ message: toastOf(results), variant: TOAST_VARIANTS[worstOutcome(results)] }],
  };
};

/** The log message of a notice that is given up. */
export const NOTICE_GIVEN_UP = "a notice was given up: OpenCode refused it each time";

/** Characters of a task's description in a toast. */
const DESCRIPTION_CHARS = 60;

/** Characters of OpenCode's reason in a toast. */
const REASON_CHARS = 160;

/** Shows the person a toast that results wait, and for what: nothing else would show it. */
export const notifySetAside = async (
  { toast }: EngineContext,
  { ends, why }: Extract<Effect, { type: "reportSetAside" }>,
): Promise<undefined> => {
  await toast({ message: setAsideToast(ends, why), variant: TOAST_VARIANTS[worstOutcome(ends)] });
};

/**
 * Reports, once, that a notice is given up: in the log with all details, and to the user in a toast. The tasks need no further
 * work then, and their results are kept.
 */
export const reportUndelivered = async (
  { toast, store, log }: EngineContext,
  { parentSessionID, runs, reason }: Extract<Effect, { type: "noticeRejected" }>,
): Promise<undefined> => {
  const taskIds = runs.map(({ taskId }) => taskId);
  log.error(NOTICE_GIVEN_UP, { parentSessionID, runs, reason });
  const [first = "", ...others] = taskIds;
  const name = `"${truncateLine(store.get(first)?.task.description ?? first, DESCRIPTION_CHARS)}"`;
  const tasks = others.length === 0 ? `task ${name}` : `task ${name} and ${others.length} more`;
  const kept = others.length === 0 ? "its result is" : "their results are";
  const message = `The agent could not be notified that ${tasks} ended; ${kept} kept. OpenCode said: ${truncateLine(reason, REASON_CHARS)}`;
  await toast({ message, variant: "error" });
};

// A notice of many results takes at most half of what its reader's window has free: more would make OpenCode sum the conversation up.

/** What one prompt carries of results that are due. */
export interface Fit {
  /** How many of them; the others go into the next prompt. At least one. */
  count: number;
  /** Longer ones are cut, in characters. */
  maxResultChars: number;
}

/** Estimated tokens that one prompt may always have: for less, OpenCode has to sum the conversation up anyway. */
const LEAST_TOKENS = 2_000;

/** The share of the room that one prompt may take: the estimates are rough, and the agent is to have some left. */
const SHARE = 0.5;

/** Characters to which a result is cut at most; before that, fewer go into one prompt. */
const LEAST_CHARS = 200;

/** What a notice says of one run. */
interface Reported {
  result: string;
  /** All that it says beside the result. */
  beside: string;
}

/** Returns the greatest whole number from `least` to `most` for which the condition holds. It must hold for all smaller ones, too. */
const greatest = (least: number, most: number, holds: (value: number) => boolean): number => {
  let [low, high] = [least, Math.max(least, most)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
};

/** The length of what a notice says of one run: its result in characters and estimated tokens, and the tokens of the rest. */
interface Size {
  chars: number;
  tokens: number;
  beside: number;
}

/** Returns the estimated tokens of it where the result is cut to so many characters. */
const cutTo =
  (most: number) =>
  ({ chars, tokens, beside }: Size): number =>
    beside + tokens * Math.min(1, most / Math.max(1, chars));

/**
 * Returns how many results go into one prompt, and how long each may be, so that it has room in the window of the model that
 * reads it. Short ones leave their share to longer ones.
 * @param limit the characters to which each is cut at any rate
 * @param room the tokens for which the model has room; undefined where the results are so few that this does not matter
 * @param mayCut false where nobody could read the rest of a result: then fewer go into one prompt
 */
export const fitResults = (
  reported: readonly Reported[],
  { limit, room, mayCut }: { limit: number; room: number | undefined; mayCut: boolean },
): Fit => {
  if (room === undefined) {
    return { count: reported.length, maxResultChars: limit };
  }
  const budget = Math.max(LEAST_TOKENS, room * SHARE);
  const sizes: Size[] = [];
  let used = 0;
  for (const { result, beside } of reported) {
    const head = result.slice(0, limit);
    const size = { chars: head.length, tokens: estimateTokenCount(head), beside: estimateTokenCount(beside) };
    used += cutTo(mayCut ? LEAST_CHARS : size.chars)(size);
    if (used > budget && sizes.length > 0) break;
    sizes.push(size);
  }
  const fits = (most: number) => sizes.map(cutTo(most)).reduce((sum, tokens) => sum + tokens, 0) <= budget;
  return { count: sizes.length, maxResultChars: greatest(Math.min(LEAST_CHARS, limit), limit, fits) };
};

/** Tokens for which a model is taken to have room of which that is not known: half of a small window. */
const UNKNOWN_ROOM = 16_000;

/** Tokens that OpenCode keeps free for an answer at most (1.18.33). */
const MOST_FOR_ANSWER = 32_000;

/**
 * Estimates for how many tokens the model of a session has room: its window, less what the conversation fills of it, as
 * counted at its newest answer, and less the answer to come. What was said since then does not count: only a part of the room
 * is to be used.
 */
export const roomIn = async ({ host, reads }: EngineContext, { id, model }: HostSession): Promise<number> => {
  const [models, newest] = await Promise.all([reads.models(), host.messages(id, NEWEST_MESSAGES)]);
  const limits = models.ok
    ? models.value.find(({ providerID, modelID }) => providerID === model?.providerID && modelID === model.modelID)
        ?.limits
    : undefined;
  const filled = newest.ok ? newest.value.findLast(({ conversationTokens }) => conversationTokens) : undefined;
  if (!limits) return UNKNOWN_ROOM;
  if (!filled?.conversationTokens) return Math.min(UNKNOWN_ROOM, limits.context / 2);
  return Math.max(0, limits.context - filled.conversationTokens - Math.min(limits.output, MOST_FOR_ANSWER));
};
