import { createRecordQuery, type RecordQuery } from "../sqlite/task-query.ts";
import type { ChangedTask, TaskHistory, TaskRecord } from "../store.ts";
import { createMergedQuery, createTaskQuery, summariesOf } from "./merged-query.ts";
import type { Reconnection } from "./reconnect.ts";
import type { WriteBuffer } from "./write-buffer.ts";

const UNREACHABLE = "the task database cannot be reached, and commands to other processes go through it";

/**
 * Creates the history of a resilient store: the file's history with all unsaved changes; without a file, the tasks in the
 * buffer. Its methods never throw.
 * @param get returns the current record of a task, stored or not
 */
export const createResilientHistory = (
  buffer: WriteBuffer,
  { readOr, flush, isConnected }: Reconnection,
  get: (taskId: string) => TaskRecord | undefined,
  isClosed: () => boolean,
): TaskHistory => {
  const unsaved = () => ({ records: buffer.records("unsaved"), removed: buffer.removed() });

  const query = <T>(run: (query: RecordQuery) => T): T =>
    readOr(
      (store) => run(buffer.isSaved() ? store : createRecordQuery(createMergedQuery(store.query, unsaved()), get)),
      () => run(createRecordQuery(createTaskQuery(summariesOf(buffer.records("any"))), get)),
    );

  /** Numbers the unsaved changes, starting above the newest change in the file. */
  const unsavedChanges = () => {
    const newest = readOr(
      (store) => store.latestChange(),
      () => 0,
    );
    return buffer.changes.numbered(newest);
  };

  const unsavedSince = (since: number): ChangedTask[] =>
    unsavedChanges()
      .filter(({ change }) => change > since)
      .flatMap(({ taskId, change, first }) => {
        const record = get(taskId);
        const createdChange = readOr(
          (store) => store.createdChangeOf(taskId),
          () => undefined,
        );
        return record ? [{ change, createdChange: createdChange ?? first, record }] : [];
      });

  return {
    page: (filter) => query(({ page }) => page(filter)),
    stats: () => query(({ stats }) => stats()),
    batch: (batchId) => query(({ batch }) => batch(batchId)),
    live: () => query(({ live }) => live()),
    newestEnded: (count, skip) => query(({ newestEnded }) => newestEnded(count, skip)),
    idsStartingWith: (beginning, limit) => query(({ idsStartingWith }) => idsStartingWith(beginning, limit)),
    latestChange: () => {
      unsavedChanges();
      return buffer.changes.highest();
    },
    changedSince: (since, limit) => {
      const unsaved = unsavedSince(since);
      const isUnsaved = new Set(unsaved.map(({ record }) => record.task.sessionID));
      // Stored changes of tasks that have changed again are left out below, so more are read than wanted.
      const readLimit = limit + unsaved.length;
      const stored = readOr(
        (store) => store.changedSince(since, readLimit),
        () => [],
      );
      const last = stored.length === readLimit ? stored.at(-1)?.change : undefined;
      const others = stored.filter(
        ({ record: { task } }) => !isUnsaved.has(task.sessionID) && !buffer.isRemoved(task.sessionID),
      );
      return [...others, ...unsaved.filter(({ change }) => last === undefined || change < last)]
        .sort((a, b) => a.change - b.change)
        .slice(0, limit);
    },

    submitCommand: (command, at) => {
      if (isClosed()) return;
      buffer.submitCommand(command, at);
      flush();
      if (!isConnected()) buffer.refuseCommand(command, UNREACHABLE);
    },
    takeCommands: () => {
      if (isClosed()) return [];
      const isSaved = flush();
      const inMemory = buffer.takeCommands();
      if (!isSaved) return inMemory;
      return readOr(
        (store) => store.takeCommands(),
        () => [],
      );
    },
    storeOutcome: (id, outcome) => {
      if (isClosed()) return;
      buffer.storeOutcome(id, outcome);
      flush();
    },
    takeOutcome: (id) =>
      buffer.takeOutcome(id) ??
      readOr(
        (store) => store.takeOutcome(id),
        () => undefined,
      ),
  };
};
