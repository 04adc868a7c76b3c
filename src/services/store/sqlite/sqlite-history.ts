import type { Owner } from "../ownership.ts";
import { finderOf, noTallies } from "../search/query.ts";
import { foundRecords } from "../search/query-records.ts";
import type { Listed } from "../search/task-summary.ts";
import type { History } from "../task-history.ts";
import { createRequestTable } from "./command-table.ts";
import type { Database } from "./database.ts";
import type { RowReader } from "./rows.ts";
import type { createListingTables } from "./summary-table.ts";
import type { createTaskTables } from "./task-tables.ts";

/** The history in a file, and what else is known of it there. Every method throws `DatabaseError`, until it is closed. */
export interface FileHistory extends History {
  /** All tasks in the order of their launch. */
  entries(): readonly Listed[];
  /** The number of the change that a task came with; undefined when it is not there. */
  bornOf(taskId: string): number | undefined;
  /** Changes get higher numbers than this one from now on. */
  raise(change: number): void;
}

/** What a history in a file works with. */
export interface SqliteHistoryParts {
  database: Database;
  owner: Owner;
  listing: ReturnType<typeof createListingTables>;
  tasks: ReturnType<typeof createTaskTables>;
  rows: RowReader;
  /** Epoch milliseconds. */
  now: () => number;
  /** Does something in a transaction; returns `otherwise` when the store is closed. */
  write: <T>(work: () => T, otherwise: T) => T;
  isOpen: () => boolean;
}

/** Looks through the tasks of all processes that share a file. */
export const createSqliteHistory = (parts: SqliteHistoryParts): FileHistory => {
  const { database, owner, listing, tasks, rows, now, write, isOpen } = parts;
  const requests = createRequestTable(database, owner, rows);

  const read = <T>(question: () => T, otherwise: T): T => (isOpen() ? question() : otherwise);

  return {
    page: (filter) =>
      read(() => foundRecords(finderOf(listing.current()), tasks.get).page(filter), { records: [], total: 0 }),
    tallies: () => read(listing.tallies, noTallies()),
    batch: (batchId) => read(() => listing.batch(batchId), []),
    live: () => read(listing.live, []),
    newestEnded: (count, skip) => read(() => listing.newestEnded(count, skip), []),
    idsFrom: (beginning, limit) => read(() => tasks.idsFrom(beginning, limit), []),
    latestChange: () => read(listing.newest, 0),
    changedSince: (change, limit) => read(() => listing.changedSince(change, limit), []),

    ask: (asked, at) => write(() => requests.ask(asked, at), undefined),
    takeRequests: () => (read(() => requests.isForMe(now()), false) ? write(() => requests.take(now()), []) : []),
    answer: (id, answer) => write(() => requests.answer(id, answer), undefined),
    takeAnswer: (id) =>
      read(() => requests.isAnswered(id), false) ? write(() => requests.takeAnswer(id), undefined) : undefined,

    entries: () => read(() => listing.current().entries(), []),
    bornOf: (taskId) => read(() => listing.bornOf(taskId), undefined),
    raise: (change) => write(() => listing.raise(change), undefined),
  };
};
