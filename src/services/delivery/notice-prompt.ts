import type { NoticePrompt } from "../../machines/outbox/events.ts";
import type { RunResult } from "../../machines/task/events.ts";
import type { Ids } from "../platform/ids.ts";
import type { Store } from "../store/store.ts";
import { type NoticeStyle, noticeOf, toastOf } from "../text/notice.ts";
import { countTasks } from "../text/task-counts.ts";

const TOASTS = { completed: "success", error: "error", cancelled: "info" } as const;

/** Characters of results that one prompt carries at most, shared among its notices: about 25,000 tokens. */
const PROMPT_CHARS = 100_000;

/** Forms one prompt of all that is owed: each run end keeps its own two parts, in the order of the ends. */
export const composeNotice = (owed: RunResult[], store: Store, ids: Ids, style: NoticeStyle): NoticePrompt => {
  const ends = owed.toSorted((a, b) => a.endedAt - b.endedAt);
  const wanted = style.tools.output ? style.maxResultChars : PROMPT_CHARS;
  const maxResultChars = Math.min(wanted, Math.floor(PROMPT_CHARS / ends.length));
  const partIDs = ids.parts(ends.length * 2).values();
  // One parent's, all of them.
  const siblings = store.list({ parentSessionID: ends[0]?.parentSessionID ?? "" });
  const session = countTasks(siblings);
  const batches = Map.groupBy(siblings, ({ batchId }) => batchId);
  const parts = ends.flatMap((end) => {
    const batch = countTasks(batches.get(end.batchId) ?? []);
    const { visible, hidden } = noticeOf(end, { batch, session }, { ...style, maxResultChars });
    return [
      { text: visible, synthetic: false },
      { text: hidden, synthetic: true },
    ];
  });
  return {
    messageID: ids.message(),
    parts: parts.map((part) => ({ id: partIDs.next().value ?? "", ...part })),
    runs: ends.map(({ taskId, run }) => ({ taskId, run })),
    toasts: ends.map((end) => ({ message: toastOf(end), variant: TOASTS[end.outcome] })),
  };
};
