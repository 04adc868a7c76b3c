// ADR-118 in docs/decisions.md
import type { Owner } from "../ownership.ts";
import { createRecordQuery, createTaskQuery, noStats } from "../search/query.ts";
import type { TaskSummary } from "../search/task-summary.ts";
import type { TaskHistory } from "../store.ts";
import { createCommandTable } from "./command-table.ts";
import type { Database } from "./database.ts";
import type { RowReader } from "./rows.ts";
import type { createSummaryTables } from "./summary-table.ts";
import type { createTaskTables } from "./task-tables.ts";

/** The history in a file. Every method throws `DatabaseError` until the store is closed, and finds nothing after that. */
export interface FileHistory extends TaskHistory {
  /** Returns the summaries of all tasks in the order of their launch. */
  summaries(): readonly TaskSummary[];
  /** Returns the number of the change that created the task; undefined when the file does not have it. */
  createdChangeOf(taskId: string): number | undefined;
  /** Makes all later changes get higher numbers than `change`. */
  raiseChangeNumber(change: number): void;
}

/** Dependencies of a history in a file. */
export interface SqliteHistoryDeps {
  database: Database;
  owner: Owner;
  summaries: ReturnType<typeof createSummaryTables>;
  tasks: ReturnType<typeof createTaskTables>;
  rows: RowReader;
  /** Epoch milliseconds. */
  now: () => number;
  /** Does `work` in a transaction; returns `otherwise` when the store is closed. */
  write: <T>(work: () => T, otherwise: T) => T;
  isOpen: () => boolean;
}

/**
 * Creates the history of all processes that share a file.
 *
 * Pages come from a copy of the summaries in memory, since SQL cannot search 100,000 tasks within 10 ms. The other queries
 * use an index or a table of counts: from the copy they would take 10 to 100 ms at 100,000 tasks, and loading it 0.3 s
 * (measured). Only during an outage all of them use summaries in memory, see `resilient-history.ts`.
 */
export const createSqliteHistory = (deps: SqliteHistoryDeps): FileHistory => {
  const { database, owner, summaries, tasks, rows, now, write, isOpen } = deps;
  const commands = createCommandTable(database, owner, rows);

  const read = <T>(work: () => T, otherwise: T): T => (isOpen() ? work() : otherwise);

  return {
    page: (filter) =>
      read(() => createRecordQuery(createTaskQuery(summaries.index()), tasks.get).page(filter), {
        records: [],
        total: 0,
      }),
    stats: () => read(summaries.stats, noStats()),
    batch: (batchId) => read(() => summaries.batch(batchId), []),
    live: () => read(summaries.live, []),
    newestEnded: (count, skip) => read(() => summaries.newestEnded(count, skip), []),
    idsStartingWith: (beginning, limit) => read(() => tasks.idsStartingWith(beginning, limit), []),
    latestChange: () => read(summaries.latestChange, 0),
    changedSince: (change, limit) => read(() => summaries.changedSince(change, limit), []),

    submitCommand: (command, at) => write(() => commands.submit(command, at), undefined),
    takeCommands: () => (read(() => commands.isForMe(now()), false) ? write(() => commands.take(now()), []) : []),
    storeOutcome: (id, outcome) => write(() => commands.storeOutcome(id, outcome), undefined),
    takeOutcome: (id) =>
      read(() => commands.hasOutcome(id), false) ? write(() => commands.takeOutcome(id), undefined) : undefined,

    summaries: () => read(() => summaries.index().entries(), []),
    createdChangeOf: (taskId) => read(() => summaries.createdChangeOf(taskId), undefined),
    raiseChangeNumber: (change) => write(() => summaries.raiseChangeNumber(change), undefined),
  };
};
