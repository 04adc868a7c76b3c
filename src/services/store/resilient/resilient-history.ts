import type { TaskRecord } from "../records.ts";
import { createTaskQuery } from "../search/query.ts";
import { type MatchedRecords, matchedRecords } from "../search/query-records.ts";
import { createSummaryIndex } from "../search/summary-index.ts";
import { mergeUnsaved, type TaskSummary } from "../search/task-summary.ts";
import type { ChangedTask, TaskHistory } from "../task-history.ts";
import type { Reconnection } from "./reconnect.ts";
import type { WriteBuffer } from "./write-buffer.ts";

/** What the history of a kept store works with. */
export interface ResilientHistoryDeps {
  ledger: WriteBuffer;
  lifeline: Reconnection;
  /** A task as it stands, be it in the file yet or not. */
  get: (taskId: string) => TaskRecord | undefined;
  isClosed: () => boolean;
}

const UNREACHABLE = "the file of tasks cannot be reached, by which requests go to the process that supervises the task";

/**
 * The history of a store in a file, whatever becomes of the file: what it does not have yet is added, and without it, the
 * tasks in hand are all there is. Never throws.
 */
export const createResilientHistory = ({ ledger, lifeline, get, isClosed }: ResilientHistoryDeps): TaskHistory => {
  const { readOr: ask, flush, isConnected } = lifeline;

  /** What there is when these are listed, and those have changed since. */
  const laidOver = (entries: readonly TaskSummary[], changed: TaskRecord[]): MatchedRecords =>
    matchedRecords(createTaskQuery(createSummaryIndex(mergeUnsaved(entries, changed, ledger.isRemoved))), get);

  const read = <T>(question: (history: MatchedRecords) => T): T =>
    ask(
      (store) => question(ledger.isSaved() ? store : laidOver(store.entries(), ledger.records("unsaved"))),
      () => question(laidOver([], ledger.records("any"))),
    );

  /** The changes that the file does not have, numbered from where it stands. */
  const unsaved = () => {
    const newest = ask(
      (store) => store.latestChange(),
      () => 0,
    );
    return ledger.changes.numbered(newest);
  };

  const changedInHand = (since: number): ChangedTask[] =>
    unsaved()
      .filter(({ change }) => change > since)
      .flatMap(({ taskId, change, first }) => {
        const record = get(taskId);
        const born = ask(
          (store) => store.bornOf(taskId),
          () => undefined,
        );
        return record ? [{ change, createdChange: born ?? first, record }] : [];
      });

  return {
    page: (filter) => read(({ page }) => page(filter)),
    stats: () => read(({ stats }) => stats()),
    batch: (batchId) => read(({ batch }) => batch(batchId)),
    live: () => read(({ live }) => live()),
    newestEnded: (count, skip) => read(({ newestEnded }) => newestEnded(count, skip)),
    idsFrom: (beginning, limit) => read(({ idsFrom }) => idsFrom(beginning, limit)),
    latestChange: () => {
      unsaved();
      return ledger.changes.highest();
    },
    changedSince: (since, limit) => {
      const inHand = changedInHand(since);
      const isNewer = new Set(inHand.map(({ record }) => record.task.sessionID));
      // Those of the file that have changed again do not count.
      const most = limit + inHand.length;
      const stored = ask(
        (store) => store.changedSince(since, most),
        () => [],
      );
      const last = stored.length === most ? stored.at(-1)?.change : undefined;
      const others = stored.filter(
        ({ record: { task } }) => !isNewer.has(task.sessionID) && !ledger.isRemoved(task.sessionID),
      );
      return [...others, ...inHand.filter(({ change }) => last === undefined || change < last)]
        .sort((a, b) => a.change - b.change)
        .slice(0, limit);
    },

    submitCommand: (asked, at) => {
      if (isClosed()) return;
      ledger.ask(asked, at);
      flush();
      if (!isConnected()) ledger.refuse(asked, UNREACHABLE);
    },
    takeCommands: () => {
      if (isClosed()) return [];
      const isSaved = flush();
      const inHand = ledger.takeRequests();
      if (!isSaved) return inHand;
      return ask(
        (store) => store.takeCommands(),
        () => [],
      );
    },
    storeOutcome: (id, answer) => {
      if (isClosed()) return;
      ledger.answer(id, answer);
      flush();
    },
    takeOutcome: (id) =>
      ledger.takeAnswer(id) ??
      ask(
        (store) => store.takeOutcome(id),
        () => undefined,
      ),
  };
};
