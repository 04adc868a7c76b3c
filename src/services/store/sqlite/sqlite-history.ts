import type { Owner } from "../ownership.ts";
import type { FileQuery } from "../search/merged-query.ts";
import { createRecordQuery, createTaskQuery, type RecordQuery } from "../search/query.ts";
import type { TaskHistory } from "../store.ts";
import { createCommandTable } from "./command-table.ts";
import type { Database } from "./database.ts";
import type { RowReader } from "./rows.ts";
import type { createSummaryTables } from "./summary-table.ts";
import type { createTaskTables } from "./task-tables.ts";

/** The history in a file. Every method throws `DatabaseError` until the store is closed, and finds nothing after that. */
export interface FileHistory extends TaskHistory {
  /** Finds tasks, for a history that knows of more than the file. Not to be used when the store is closed. */
  query: FileQuery;
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

/** Creates the history of all processes that share a file. Each question is answered from indexes and counts in the file. */
export const createSqliteHistory = (deps: SqliteHistoryDeps): FileHistory => {
  const { database, owner, summaries, tasks, rows, now, write, isOpen } = deps;
  const commands = createCommandTable(database, owner, rows);
  const [inFile, inNone] = [
    createRecordQuery(summaries.query, tasks.get),
    createRecordQuery(createTaskQuery([]), tasks.get),
  ];

  const read = <T>(work: () => T, otherwise: T): T => (isOpen() ? work() : otherwise);
  const records = (): RecordQuery => (isOpen() ? inFile : inNone);

  return {
    page: (filter) => records().page(filter),
    stats: () => records().stats(),
    batch: (batchId) => records().batch(batchId),
    live: () => records().live(),
    newestEnded: (count, skip) => records().newestEnded(count, skip),
    idsStartingWith: (beginning, limit) => records().idsStartingWith(beginning, limit),
    latestChange: () => read(summaries.latestChange, 0),
    changedSince: (change, limit) => read(() => summaries.changedSince(change, limit), []),

    submitCommand: (command, at) => write(() => commands.submit(command, at), undefined),
    takeCommands: () => (read(() => commands.isForMe(now()), false) ? write(() => commands.take(now()), []) : []),
    storeOutcome: (id, outcome) => write(() => commands.storeOutcome(id, outcome), undefined),
    takeOutcome: (id) =>
      read(() => commands.hasOutcome(id), false) ? write(() => commands.takeOutcome(id), undefined) : undefined,

    query: summaries.query,
    createdChangeOf: (taskId) => read(() => summaries.createdChangeOf(taskId), undefined),
    raiseChangeNumber: (change) => write(() => summaries.raiseChangeNumber(change), undefined),
  };
};
