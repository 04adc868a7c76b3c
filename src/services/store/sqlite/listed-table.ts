import { addUp, entryOf, type Task, type TaskEntry, type TaskStatus, type Usage } from "../../../task.ts";
import type { ChangedTask, TaskBelow, TaskFilter, TaskRecord } from "../store.ts";
import type { Database, Value } from "./driver.ts";
import { createPageQuery, type FileQuery, type FoundTask, summaryOf, type TaskSummary } from "./task-query.ts";
import { RECORD_COLUMNS, type RecordRow, type RowReader } from "./text-table.ts";

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

interface EntryRow {
  id: string;
  parent: string;
  batch: string;
  status: TaskStatus;
  agent: string;
  description: string;
  resumes: number;
  is_forked: 0 | 1;
  started_at: number;
  run_began_at: number;
  ended_at: number | null;
  tokens: number;
  cost: number;
  incomplete: NonNullable<Task["incomplete"]> | null;
}

const toEntry = (row: EntryRow): TaskEntry => {
  const entry: TaskEntry = {
    sessionID: row.id,
    parentSessionID: row.parent,
    batchId: row.batch,
    status: row.status,
    agent: row.agent,
    description: row.description,
    resumeCount: row.resumes,
    isForked: row.is_forked === 1,
    launchedAt: row.started_at,
    runBeganAt: row.run_began_at,
    ownUsage: { tokens: row.tokens, cost: row.cost },
  };
  if (row.incomplete !== null) entry.incomplete = row.incomplete;
  if (row.ended_at !== null) entry.runEndedAt = row.ended_at;
  return entry;
};

/** The condition of each field of a filter, and the values that it is given. `id` is compared so that its index is used. */
const CONDITIONS: { [Field in keyof TaskFilter]-?: { sql: string; values(value: string): Value[] } } = {
  parentSessionID: { sql: "parent = ?", values: (value) => [value] },
  batchId: { sql: "batch = ?", values: (value) => [value] },
  parentTaskId: { sql: "lead = ?", values: (value) => [value] },
  idPrefix: { sql: "task.id >= ? AND task.id < ? || char(0x10FFFF)", values: (value) => [value, value] },
};

interface BelowRow {
  id: string;
  lead: string;
  launched_at: number;
  tokens: number;
  cost: number;
}

/** Creates a function that finds all tasks below some tasks, in one query and without reading their records. */
export const createTasksBelow = (database: Database) => {
  const select = database.prepare<BelowRow>(
    `WITH RECURSIVE below (id, lead, started_at, seq) AS (
       SELECT task.id, lead, started_at, seq FROM json_each(?) AS top CROSS JOIN task ON lead = top.value
       UNION
       SELECT task.id, task.lead, task.started_at, task.seq FROM below CROSS JOIN task ON task.lead = below.id
     )
     SELECT id, lead, below.started_at AS launched_at, tokens, cost FROM below JOIN listed USING (id)
     ORDER BY launched_at, seq`,
  );
  // Most sessions have no tasks below tasks: then this takes a twentieth of the time (measured, 300 tasks).
  const selectAny = database.prepare("SELECT 1 FROM task WHERE lead IS NOT NULL LIMIT 1");
  return (taskIds: readonly string[]): TaskBelow[] =>
    taskIds.length === 0 || selectAny.get() === undefined
      ? []
      : select.all(JSON.stringify(taskIds)).map(({ id, lead, launched_at, tokens, cost }) => ({
          sessionID: id,
          parentTaskId: lead,
          launchedAt: launched_at,
          ownUsage: { tokens, cost },
        }));
};

/**
 * Reads and writes the table `listed`, which has a summary of each task, and reads the table `tally` that triggers derive from
 * it. Writing needs a transaction.
 */
export const createListedTable = (database: Database, rows: RowReader) => {
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

  const selectEntries = (where: string) =>
    database.prepare<EntryRow>(
      `SELECT listed.id, parent, batch, listed.status, agent, description, resumes, is_forked, listed.started_at, run_began_at,
         listed.ended_at, tokens, cost, incomplete
       FROM task JOIN listed USING (id) ${where} ORDER BY task.started_at, task.seq`,
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
    /** Lists tasks from small columns: a task whose record is damaged is listed, too. */
    list: (filter: TaskFilter): TaskEntry[] => {
      const given = (Object.keys(CONDITIONS) as (keyof TaskFilter)[]).flatMap((field) => {
        const value = filter[field];
        return value === undefined ? [] : { sql: CONDITIONS[field].sql, values: CONDITIONS[field].values(value) };
      });
      const where = given.length > 0 ? `WHERE ${given.map(({ sql }) => sql).join(" AND ")}` : "";
      return selectEntries(where)
        .all(...given.flatMap(({ values }) => values))
        .map(toEntry);
    },
    below: createTasksBelow(database),
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
