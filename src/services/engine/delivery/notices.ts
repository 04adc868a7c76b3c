import type { NoticePrompt } from "../../../machines/outbox/events.ts";
import type { Effect } from "../../../machines/supervisor/events.ts";
import type { RunResult } from "../../../machines/task/events.ts";
import { addUp, countTasks, type TaskEntry } from "../../../task.ts";
import type { Ids } from "../../platform/ids.ts";
import { truncateLine } from "../../platform/plain-text.ts";
import type { UsageReader } from "../../runtime/progress.ts";
import type { Store } from "../../store/store.ts";
import {
  besideResult,
  type NoticedRun,
  type NoticeStyle,
  noticeOf,
  setAsideToast,
  toastOf,
  worstOutcome,
} from "../../text/notice-text.ts";
import type { EngineContext } from "../context.ts";
import { fitResults, MAX_CHARS } from "./fit-results.ts";

const TOAST_VARIANTS = { completed: "success", error: "error", cancelled: "info" } as const;

/** What was observed of a run that has ended, of those of one task the newest. */
export interface Observed {
  of(end: RunResult): Pick<NoticedRun, "receipt" | "worktree">;
  /** The files that it shared with other agents. They are asked for once, when the prompt is to say them. */
  takeOverlaps(end: RunResult): NoticedRun["overlaps"];
}

/**
 * Composes one prompt from the queued results, in the order in which the runs ended, or from the first of them where its
 * reader has no room for all. It has a visible part for each, and a hidden one for all, since the host stores parts one after
 * the other, at 3 to 4 ms each (measured), before the parent's turn.
 * @param queue results of tasks that all have the same parent; none of them can be resumed before it is delivered
 */
export const composeNotice = (
  queue: RunResult[],
  store: Store,
  ids: Ids,
  style: NoticeStyle & { room?: number | undefined },
  usageReader: UsageReader,
  observed: Observed,
): NoticePrompt => {
  const due = queue.toSorted((a, b) => a.endedAt - b.endedAt);
  const mayCut = style.tools.output !== undefined;
  // Without a tool to read the rest of a result, the notice carries as much of it as a prompt may have.
  const limit = mayCut ? style.maxResultChars : MAX_CHARS;
  const siblings = store.list({ parentSessionID: due[0]?.parentSessionID ?? "" });
  const batches = Map.groupBy(siblings, ({ batchId }) => batchId);
  const all = due.map((end) => ({ end, batch: countTasks(batches.get(end.batchId) ?? []), ...observed.of(end) }));
  const reported = all.map((ended) => {
    const { result, earlierText = "" } = ended.end;
    return { result: result || earlierText, beside: style.room === undefined ? "" : besideResult(ended, style) };
  });
  const { count, maxResultChars } = fitResults(reported, { limit, room: style.room, mayCut });
  const results = due.slice(0, count);
  const ends = all.slice(0, count).map((ended) => ({ ...ended, overlaps: observed.takeOverlaps(ended.end) }));
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
  const words = [...visible.map((text) => ({ text, synthetic: false })), { text: hidden, synthetic: true }];
  const partIDs = ids.parts(words.length);
  return {
    messageID: ids.message(),
    parts: words.map((part, index) => ({ id: partIDs[index] ?? "", ...part })),
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
export const reportSetAside = async (
  { host, log }: EngineContext,
  { ends, why }: Extract<Effect, { type: "reportSetAside" }>,
): Promise<undefined> => {
  const shown = await host.toast({ message: setAsideToast(ends, why), variant: TOAST_VARIANTS[worstOutcome(ends)] });
  if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
};

/**
 * Reports, once, that a notice is given up: in the log with all details, and to the user in a toast. The tasks need no further
 * work then, and their results are kept.
 */
export const reportUndelivered = async (
  { host, store, log }: EngineContext,
  { parentSessionID, runs, reason }: Extract<Effect, { type: "noticeRejected" }>,
): Promise<undefined> => {
  const taskIds = runs.map(({ taskId }) => taskId);
  log.error(NOTICE_GIVEN_UP, { parentSessionID, runs, reason });
  const [first = "", ...others] = taskIds;
  const name = `"${truncateLine(store.get(first)?.task.description ?? first, DESCRIPTION_CHARS)}"`;
  const tasks = others.length === 0 ? `task ${name}` : `task ${name} and ${others.length} more`;
  const kept = others.length === 0 ? "its result is" : "their results are";
  const message = `The agent could not be notified that ${tasks} ended; ${kept} kept. OpenCode said: ${truncateLine(reason, REASON_CHARS)}`;
  const shown = await host.toast({ message, variant: "error" });
  if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
};
