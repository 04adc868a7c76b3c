import { addUp, entryOf, type TaskStatus, type Usage } from "../../../task.ts";
import type { FileQuery } from "../search/merged-query.ts";
import type { FoundTask } from "../search/query.ts";
import { summaryOf, type TaskSummary } from "../search/task-summary.ts";
import type { ChangedTask, TaskRecord } from "../store.ts";
import type { Database, Value } from "./database.ts";
import { createPageQuery } from "./page-query.ts";
import { RECORD_COLUMNS, type RecordRow, type RowReader } from "./rows.ts";

interface SummaryRow {
  id: string;
  born: number;
  started_at: number;
  ended_at: number | null;
  duration: number | null;
  status: TaskStatus;
  agent: string;
  directory: string;
  parent: string;
  batch: string;
  text: string;
  tokens: number;
  cost: number;
}

interface CountRow {
  status: TaskStatus;
  agent: string;
  tasks: number;
  ended: number;
  duration: number;
  tokens: number;
  cost: number;
}

const SELECT_KEYS = "SELECT id, born, started_at, ended_at FROM listed";

const toFound = ({ id, born, started_at, ended_at }: SummaryRow): FoundTask => ({
  id,
  createdChange: born,
  startedAt: started_at,
  endedAt: ended_at ?? undefined,
});

const toSummary = (row: SummaryRow): TaskSummary => ({
  id: row.id,
  createdChange: row.born,
  startedAt: row.started_at,
  status: row.status,
  agent: row.agent,
  directory: row.directory,
  parentSessionID: row.parent,
  batchId: row.batch,
  text: row.text,
  endedAt: row.ended_at ?? undefined,
  duration: row.duration ?? undefined,
  usage: { tokens: row.tokens, cost: row.cost },
});

/**
 * Reads and writes the table `listed`, which has a summary of each task, and reads the tables that triggers derive from
 * it. Writing needs a transaction.
 */
export const createSummaryTables = (database: Database, rows: RowReader) => {
  const bump = database.prepare("UPDATE newest_change SET number = number + 1");
  const raise = database.prepare("UPDATE newest_change SET number = max(number, ?)");
  const insert = database.prepare(
    `INSERT INTO listed (born, change, tally, ended_at, duration, run_began_at, resumes, tokens, cost, incomplete, status, id, started_at, agent,
       directory, batch, description, text, is_forked)
     SELECT number, number, tally.id, ?, ?, ?, ?, ?, ?, ?, tally.status, ?, ?, tally.agent, tally.directory, ?, ?, ?, ?
     FROM newest_change, tally WHERE tally.status = ? AND agent = ? AND directory = ?`,
  );
  const insertTally = database.prepare("INSERT OR IGNORE INTO tally (status, agent, directory) VALUES (?, ?, ?)");
  const insertTallyOf = database.prepare(
    "INSERT OR IGNORE INTO tally (status, agent, directory) SELECT ?1, agent, directory FROM listed WHERE id = ?2 AND status <> ?1",
  );
  const update = database.prepare(
    `UPDATE listed SET change = (SELECT number FROM newest_change), ended_at = ?1, duration = ?2, run_began_at = ?3,
       resumes = ?4, tokens = ?5, cost = ?6, incomplete = ?7, status = ?8,
       tally = (SELECT tally.id FROM tally
         WHERE tally.status = ?8 AND tally.agent = listed.agent AND tally.directory = listed.directory)
     WHERE id = ?9`,
  );
  const updateUsage = database.prepare(
    "UPDATE listed SET change = (SELECT number FROM newest_change), tokens = ?, cost = ? WHERE id = ?",
  );
  const selectLatestChange = database.prepare<{ number: number }>("SELECT number FROM newest_change");
  const selectCreatedChange = database.prepare<{ born: number }>("SELECT born FROM listed WHERE id = ?");
  const selectChanged = database.prepare<RecordRow & { change: number; born: number }>(
    `SELECT change, born, ${RECORD_COLUMNS} FROM listed JOIN task USING (id) WHERE change > ? ORDER BY change LIMIT ?`,
  );
  const selectBatch = database.prepare<SummaryRow>(`${SELECT_KEYS} WHERE batch = ? ORDER BY started_at, born`);
  const selectLive = database.prepare<SummaryRow>(`${SELECT_KEYS} WHERE ended_at IS NULL ORDER BY started_at, born`);
  const selectEnded = database.prepare<SummaryRow>(
    `${SELECT_KEYS} WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, born DESC LIMIT ? OFFSET ?`,
  );
  const selectIds = database.prepare<{ id: string }>(
    "SELECT id FROM listed WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id LIMIT ?2",
  );
  const selectSummaries = database.prepare<SummaryRow>(
    "SELECT listed.*, parent FROM listed JOIN task USING (id) WHERE id IN (SELECT value FROM json_each(?))",
  );
  const selectCounts = database.prepare<CountRow>(
    `SELECT status, agent, sum(tasks) AS tasks, sum(ended) AS ended, sum(duration) AS duration,
       sum(tokens) AS tokens, sum(cost) AS cost
     FROM tally GROUP BY status, agent`,
  );
  const [selectLongest, selectShortest] = ["DESC", "ASC"].map((order) =>
    database.prepare<{ duration: number }>(
      `SELECT duration FROM listed WHERE duration IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?))
       ORDER BY duration ${order} LIMIT 1`,
    ),
  );

  const latestChange = (): number => selectLatestChange.get()?.number ?? 0;

  const query: FileQuery = {
    page: createPageQuery(database),
    counts: (without = []) => {
      const rows = selectCounts.all();
      const sum = (of: "ended" | "duration") => rows.reduce((all, row) => all + row[of], 0);
      const ids = JSON.stringify(without);
      return {
        tasks: rows.map(({ status, agent, tasks }) => ({ status, agent, count: tasks })),
        ended: sum("ended"),
        duration: {
          sum: sum("duration"),
          max: selectLongest?.get(ids)?.duration,
          min: selectShortest?.get(ids)?.duration,
        },
        usage: addUp(rows),
      };
    },
    batch: (batchId) => selectBatch.all(batchId).map(toFound),
    live: () => selectLive.all().map(toFound),
    newestEnded: (count, skip) => selectEnded.all(count, skip).map(toFound),
    idsStartingWith: (beginning, limit) => selectIds.all(beginning, limit).map(({ id }) => id),
    summaries: (taskIds) => (taskIds.length === 0 ? [] : selectSummaries.all(JSON.stringify(taskIds)).map(toSummary)),
  };

  const changing = ({ endedAt, duration, usage }: TaskSummary, { snapshot, task }: TaskRecord): Value[] => [
    endedAt ?? null,
    duration ?? null,
    snapshot.context.run.startedAt,
    snapshot.context.run.index,
    usage.tokens,
    usage.cost,
    entryOf(task).incomplete ?? null,
  ];

  return {
    insert: (record: TaskRecord) => {
      bump.run();
      const { status, agent, directory, description, batchId, sessionID, isForked } = record.task;
      const summary = summaryOf(record, 0);
      const fixed = [sessionID, summary.startedAt, batchId, description, summary.text, isForked ? 1 : 0];
      const tally = [status, agent, directory];
      insertTally.run(...tally);
      insert.run(...changing(summary, record), ...fixed, ...tally);
    },
    update: (record: TaskRecord) => {
      bump.run();
      const { status, sessionID } = record.task;
      insertTallyOf.run(status, sessionID);
      update.run(...changing(summaryOf(record, 0), record), status, sessionID);
    },
    /** Stores what a task has used by now, of which the rest of its summary stays the same. */
    updateUsage: (taskId: string, { tokens, cost }: Usage) => {
      bump.run();
      updateUsage.run(tokens, cost, taskId);
    },
    /** Makes all later changes get higher numbers than `change`. */
    raiseChangeNumber: (change: number) => void raise.run(change),

    query,
    latestChange,
    createdChangeOf: (taskId: string): number | undefined => selectCreatedChange.get(taskId)?.born,
    changedSince: (change: number, limit: number): ChangedTask[] => {
      const changed: ChangedTask[] = [];
      // Damaged rows are left out. Reads on until `limit` is reached: a caller takes fewer to mean that there are no more.
      for (let since: number | undefined = change; since !== undefined && changed.length < limit; ) {
        const wanted: number = limit - changed.length;
        const found = selectChanged.all(since, wanted);
        for (const row of found) {
          const record = rows.record(row);
          if (record) changed.push({ change: row.change, createdChange: row.born, record });
        }
        since = found.length < wanted ? undefined : found.at(-1)?.change;
      }
      return changed;
    },
  };
};
