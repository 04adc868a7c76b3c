// ADR-018 in docs/decisions.md
import type { NoticePrompt } from "../../machines/outbox/events.ts";
import type { RunResult } from "../../machines/task/events.ts";
import { countTasks } from "../../task.ts";
import type { Ids } from "../platform/ids.ts";
import type { Store } from "../store/store.ts";
import { type NoticeStyle, noticeOf, toastOf } from "../text/notice.ts";

const TOAST_VARIANTS = { completed: "success", error: "error", cancelled: "info" } as const;

/** Characters of results that one prompt may carry, shared among its notices: about 25,000 tokens. */
const MAX_PROMPT_CHARS = 100_000;

/**
 * Composes one prompt from all queued results. Each result has two parts of its own, a visible and a hidden one, in the
 * order in which the runs ended.
 * @param queue results of tasks that all have the same parent
 */
export const composeNotice = (queue: RunResult[], store: Store, ids: Ids, style: NoticeStyle): NoticePrompt => {
  const results = queue.toSorted((a, b) => a.endedAt - b.endedAt);
  // Without a tool to read the rest of a result, the notice carries as much of it as fits.
  const limit = style.tools.output ? style.maxResultChars : MAX_PROMPT_CHARS;
  const maxResultChars = Math.min(limit, Math.floor(MAX_PROMPT_CHARS / results.length));
  const partIDs = ids.parts(results.length * 2).values();
  const siblings = store.list({ parentSessionID: results[0]?.parentSessionID ?? "" });
  const session = countTasks(siblings);
  const batches = Map.groupBy(siblings, ({ batchId }) => batchId);
  const parts = results.flatMap((result) => {
    const batch = countTasks(batches.get(result.batchId) ?? []);
    const { visible, hidden } = noticeOf(result, { batch, session }, { ...style, maxResultChars });
    return [
      { text: visible, synthetic: false },
      { text: hidden, synthetic: true },
    ];
  });
  return {
    messageID: ids.message(),
    parts: parts.map((part) => ({ id: partIDs.next().value ?? "", ...part })),
    runs: results.map(({ taskId, run }) => ({ taskId, run })),
    toasts: results.map((result) => ({ message: toastOf(result), variant: TOAST_VARIANTS[result.outcome] })),
  };
};
