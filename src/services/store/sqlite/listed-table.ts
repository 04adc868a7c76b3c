import {
  addUpWakes,
  entryOf,
  hasEnded,
  missedIn,
  type Progress,
  type TaskEntry,
  type TaskStatus,
  type Usage,
  type WakeCosts,
} from "../../../task.ts";
import type { ChangedTask, TaskBelow, TaskFilter, TaskRecord } from "../store.ts";
import type { Database, Value } from "./driver.ts";
import { RECORD_COLUMNS, type RecordRow, type RowReader } from "./text-table.ts";

/** The fields by which a task is found, sorted and counted: some 200 bytes, where a record may have 10,000. */
export interface TaskSummary {
  id: string;
  /** The number of the change that created the task. Sorts tasks of the same millisecond: later ones have higher numbers. */
  createdChange: number;
  /** Epoch milliseconds of its launch. */
  startedAt: number;
  status: TaskStatus;
  agent: string;
  directory: string;
  parentSessionID: string;
  batchId: string;
  /** The description in the form in which it is searched, see `searchKey`. */
  text: string;
  /** Epoch milliseconds. Null until the task ends. */
  endedAt: number | null;
  /** Milliseconds of the newest run. Null until the task ends. */
  duration: number | null;
  /** Of its own runs. */
  tokens: number;
  cost: number;
  wakes: number;
  wakeTokens: number;
  wakeCachedTokens: number;
  wakeCost: number;
}

/** What the wakes of a task, or of several, cost, as columns. */
export type WakeColumns = Pick<TaskSummary, "wakes" | "wakeTokens" | "wakeCachedTokens" | "wakeCost">;

const toWakeColumns = (costs: WakeCosts = addUpWakes([])): WakeColumns => ({
  wakes: costs.wakes,
  wakeTokens: costs.tokens,
  wakeCachedTokens: costs.cachedTokens,
  wakeCost: costs.cost,
});

/** Reads what wakes cost from columns. */
export const wakeCostsOf = ({ wakes, wakeTokens, wakeCachedTokens, wakeCost }: WakeColumns): WakeCosts => ({
  wakes,
  tokens: wakeTokens,
  cachedTokens: wakeCachedTokens,
  cost: wakeCost,
});

/**
 * Normalizes a text for searching: lower case in every alphabet, so that É matches é, and composed characters, so that a
 * letter with an accent matches whether it is written as one character or two. É does not match e. No character is
 * special; the end of a line and a NUL become a space, and half a surrogate pair U+FFFD, as in the file.
 */
export const searchKey = (text: string): string =>
  text
    .toWellFormed()
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[\n\0]/g, " ");

/** Summarizes a record. */
export const summaryOf = ({ task, snapshot }: TaskRecord, createdChange: number): TaskSummary => {
  const { completedAt, run } = snapshot.context;
  const endedAt = (hasEnded(task) ? completedAt : undefined) ?? null;
  return {
    id: task.sessionID,
    createdChange,
    startedAt: Date.parse(task.startedAt),
    status: task.status,
    agent: task.agent,
    directory: task.directory,
    parentSessionID: task.parentSessionID,
    batchId: task.batchId,
    text: searchKey(task.description),
    endedAt,
    duration: endedAt === null ? null : endedAt - run.startedAt,
    tokens: task.progress.tokens,
    cost: task.progress.cost,
    ...toWakeColumns(task.progress.wakeCosts),
  };
};

/** A row with the columns of a `TaskEntry`, some of them in another form. */
type EntryRow = Omit<TaskEntry, "isForked" | "ownUsage" | "incomplete" | "missedInstructions" | "runEndedAt"> &
  Usage & { is_forked: 0 | 1; incomplete: TaskEntry["incomplete"] | null; missed: number; runEndedAt: number | null };

const toEntry = ({ is_forked, tokens, cost, incomplete, missed, runEndedAt, ...row }: EntryRow): TaskEntry => {
  const entry: TaskEntry = { ...row, isForked: is_forked === 1, ownUsage: { tokens, cost } };
  if (incomplete) entry.incomplete = incomplete;
  if (missed > 0) entry.missedInstructions = missed;
  if (runEndedAt !== null) entry.runEndedAt = runEndedAt;
  return entry;
};

/** The condition of each field of a filter, and the values that it is given. `id` is compared so that its index is used. */
const CONDITIONS: { [Field in keyof TaskFilter]-?: { sql: string; values(value: string): Value[] } } = {
  parentSessionID: { sql: "parent = ?", values: (value) => [value] },
  batchId: { sql: "batch = ?", values: (value) => [value] },
  parentTaskId: { sql: "lead = ?", values: (value) => [value] },
  idPrefix: { sql: "task.id >= ? AND task.id < ? || char(0x10FFFF)", values: (value) => [value, value] },
};

/** Creates a function that finds all tasks below some tasks, in one query and without reading their records. */
export const createTasksBelow = (database: Database) => {
  const select = database.prepare<Omit<TaskBelow, "ownUsage"> & Usage>(
    `WITH RECURSIVE below (id, lead, started_at, seq) AS (
       SELECT task.id, lead, started_at, seq FROM json_each(?) AS top CROSS JOIN task ON lead = top.value
       UNION
       SELECT task.id, task.lead, task.started_at, task.seq FROM below CROSS JOIN task ON task.lead = below.id
     )
     SELECT id AS sessionID, lead AS parentTaskId, below.started_at AS launchedAt, tokens, cost
     FROM below JOIN listed USING (id) ORDER BY launchedAt, seq`,
  );
  // Most sessions have no tasks below tasks: then this takes a twentieth of the time (measured, 300 tasks).
  const selectAny = database.prepare("SELECT 1 FROM task WHERE lead IS NOT NULL LIMIT 1");
  return (taskIds: readonly string[]): TaskBelow[] =>
    taskIds.length === 0 || selectAny.get() === undefined
      ? []
      : select
          .all(JSON.stringify(taskIds))
          .map(({ tokens, cost, ...below }) => ({ ...below, ownUsage: { tokens, cost } }));
};

/**
 * Reads and writes the table `listed`, which has a summary of each task, and reads the table `tally` that triggers derive from
 * it. Writing needs a transaction.
 */
export const createListedTable = (database: Database, rows: RowReader) => {
  const bump = database.prepare("UPDATE newest_change SET number = number + 1");
  const raise = database.prepare("UPDATE newest_change SET number = max(number, ?)");
  const insert = database.prepare(
    `INSERT INTO listed (born, change, tally, ended_at, duration, run_began_at, resumes, tokens, cost, wakes, wake_tokens,
       wake_cached, wake_cost, incomplete, missed, status, id, started_at, agent, directory, batch, description, text, is_forked)
     SELECT number, number, tally.id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, tally.status, ?, ?, tally.agent, tally.directory, ?, ?, ?, ?
     FROM newest_change, tally WHERE tally.status = ? AND agent = ? AND directory = ?`,
  );
  const insertTally = database.prepare("INSERT OR IGNORE INTO tally (status, agent, directory) VALUES (?, ?, ?)");
  const insertTallyOf = database.prepare(
    "INSERT OR IGNORE INTO tally (status, agent, directory) SELECT ?1, agent, directory FROM listed WHERE id = ?2 AND status <> ?1",
  );
  const update = database.prepare(
    `UPDATE listed SET change = (SELECT number FROM newest_change), ended_at = ?1, duration = ?2, run_began_at = ?3,
       resumes = ?4, tokens = ?5, cost = ?6, wakes = ?7, wake_tokens = ?8, wake_cached = ?9, wake_cost = ?10, incomplete = ?11,
       missed = ?12, status = ?13,
       tally = (SELECT tally.id FROM tally
         WHERE tally.status = ?13 AND tally.agent = listed.agent AND tally.directory = listed.directory)
     WHERE id = ?14`,
  );
  const updateUsage = database.prepare(
    `UPDATE listed SET change = (SELECT number FROM newest_change), tokens = ?, cost = ?, wakes = ?, wake_tokens = ?,
       wake_cached = ?, wake_cost = ? WHERE id = ?`,
  );
  const selectLatestChange = database.prepare<{ number: number }>("SELECT number FROM newest_change");
  const selectEndedRuns = database.prepare<{ runs: number }>(
    "SELECT resumes + (ended_at IS NOT NULL) AS runs FROM listed WHERE id = ?",
  );
  const selectCreatedChange = database.prepare<{ born: number }>("SELECT born FROM listed WHERE id = ?");
  const selectChanged = database.prepare<RecordRow & { change: number; born: number }>(
    `SELECT change, born, ${RECORD_COLUMNS} FROM listed JOIN task USING (id) WHERE change > ? ORDER BY change LIMIT ?`,
  );
  const selectEntries = (where: string) =>
    database.prepare<EntryRow>(
      `SELECT listed.id AS sessionID, parent AS parentSessionID, batch AS batchId, listed.status, agent, description,
         resumes AS resumeCount, is_forked, listed.started_at AS launchedAt, run_began_at AS runBeganAt,
         listed.ended_at AS runEndedAt, tokens, cost, incomplete, missed
       FROM task JOIN listed USING (id) ${where} ORDER BY task.started_at, task.seq`,
    );

  const used = ({ tokens, cost, wakeCosts }: Progress): Value[] => [
    tokens,
    cost,
    ...Object.values(toWakeColumns(wakeCosts)),
  ];

  const changing = ({ endedAt, duration }: TaskSummary, { snapshot, task }: TaskRecord): Value[] => [
    endedAt,
    duration,
    snapshot.context.run.startedAt,
    snapshot.context.run.index,
    ...used(task.progress),
    entryOf(task).incomplete ?? null,
    missedIn(task).length,
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
    updateUsage: (taskId: string, progress: Progress) => {
      bump.run();
      updateUsage.run(...used(progress), taskId);
    },
    /** Makes all later changes get higher numbers than `change`. */
    raiseChangeNumber: (change: number) => void raise.run(change),

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
    latestChange: (): number => selectLatestChange.get()?.number ?? 0,
    /** How many runs of a task have ended. */
    endedRunsOf: (taskId: string): number => selectEndedRuns.get(taskId)?.runs ?? 0,
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
