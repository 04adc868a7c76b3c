import type { Owner } from "../ownership.ts";
import { createTaskQuery, noStats } from "../search/query.ts";
import { matchedRecords } from "../search/query-records.ts";
import type { TaskSummary } from "../search/task-summary.ts";
import type { TaskHistory } from "../task-history.ts";
import { createCommandTable } from "./command-table.ts";
import type { Database } from "./database.ts";
import type { RowReader } from "./rows.ts";
import type { createSummaryTables } from "./summary-table.ts";
import type { createTaskTables } from "./task-tables.ts";

/** The history in a file, and what else is known of it there. Every method throws `DatabaseError`, until it is closed. */
export interface FileHistory extends TaskHistory {
  /** All tasks in the order of their launch. */
  entries(): readonly TaskSummary[];
  /** The number of the change that a task came with; undefined when it is not there. */
  bornOf(taskId: string): number | undefined;
  /** Changes get higher numbers than this one from now on. */
  raise(change: number): void;
}

/** What a history in a file works with. */
export interface SqliteHistoryDeps {
  database: Database;
  owner: Owner;
  listing: ReturnType<typeof createSummaryTables>;
  tasks: ReturnType<typeof createTaskTables>;
  rows: RowReader;
  /** Epoch milliseconds. */
  now: () => number;
  /** Does something in a transaction; returns `otherwise` when the store is closed. */
  write: <T>(work: () => T, otherwise: T) => T;
  isOpen: () => boolean;
}

/** Looks through the tasks of all processes that share a file. */
export const createSqliteHistory = (parts: SqliteHistoryDeps): FileHistory => {
  const { database, owner, listing, tasks, rows, now, write, isOpen } = parts;
  const requests = createCommandTable(database, owner, rows);

  const read = <T>(question: () => T, otherwise: T): T => (isOpen() ? question() : otherwise);

  return {
    page: (filter) =>
      read(() => matchedRecords(createTaskQuery(listing.current()), tasks.get).page(filter), { records: [], total: 0 }),
    stats: () => read(listing.tallies, noStats()),
    batch: (batchId) => read(() => listing.batch(batchId), []),
    live: () => read(listing.live, []),
    newestEnded: (count, skip) => read(() => listing.newestEnded(count, skip), []),
    idsFrom: (beginning, limit) => read(() => tasks.idsFrom(beginning, limit), []),
    latestChange: () => read(listing.newest, 0),
    changedSince: (change, limit) => read(() => listing.changedSince(change, limit), []),

    submitCommand: (asked, at) => write(() => requests.ask(asked, at), undefined),
    takeCommands: () => (read(() => requests.isForMe(now()), false) ? write(() => requests.take(now()), []) : []),
    storeOutcome: (id, answer) => write(() => requests.answer(id, answer), undefined),
    takeOutcome: (id) =>
      read(() => requests.isAnswered(id), false) ? write(() => requests.takeAnswer(id), undefined) : undefined,

    entries: () => read(() => listing.current().entries(), []),
    bornOf: (taskId) => read(() => listing.bornOf(taskId), undefined),
    raise: (change) => write(() => listing.raise(change), undefined),
  };
};
