import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import type { Progress, Task } from "../../../task.ts";
import type { Owner } from "../ownership.ts";
import type { JournalEntry, Retention, TaskFilter, TaskRecord } from "../store.ts";
import type { Database, Value } from "./database.ts";
import type { RecordRow, RowReader } from "./rows.ts";

const DAY = 86_400_000;

/** Rows that a sweep deletes at most: that blocks the host for some milliseconds. */
const SWEEP_BATCH = 200;

/** Reads and writes the tables `task` and `journal`. Writing needs a transaction. */
export const createTaskTables = (database: Database, me: Owner, rows: RowReader) => {
  const insertTask = database.prepare(
    `INSERT INTO task (status, ended_at, owner, directory, database, snapshot, progress, id, parent, lead, started_at, origin)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const updateOwn = database.prepare(
    `UPDATE task SET status = ?, ended_at = ?, owner = ?, directory = ?, database = ?, snapshot = ?, progress = ?
     WHERE id = ? AND owner = ?`,
  );
  const updateFree = database.prepare(
    `UPDATE task SET status = ?, ended_at = ?, owner = ?, directory = ?, database = ?, snapshot = ?, progress = ?
     WHERE id = ? AND (owner = ? OR owner IS NULL)`,
  );
  const insertEvent = database.prepare(
    "INSERT INTO journal (task, event) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM task WHERE id = ?1)",
  );
  const updateProgress = database.prepare("UPDATE task SET progress = ? WHERE id = ? AND (owner = ? OR owner IS NULL)");
  const deleteTask = database.prepare("DELETE FROM task WHERE id = ?");
  const deleteOlder = database.prepare(
    `DELETE FROM task WHERE seq IN (
       SELECT seq FROM task WHERE owner IS NULL AND directory = ? AND ended_at < ? LIMIT ${SWEEP_BATCH})`,
  );
  const deleteBeyond = database.prepare(
    `DELETE FROM task WHERE seq IN (
       SELECT seq FROM task WHERE owner IS NULL AND directory = ? AND ended_at IS NOT NULL
       ORDER BY ended_at DESC, seq DESC LIMIT ${SWEEP_BATCH} OFFSET ?)`,
  );
  const selectRecord = database.prepare<RecordRow>("SELECT id, snapshot, progress FROM task WHERE id = ?");
  const selectEvents = database.prepare<{ seq: number; event: string }>(
    "SELECT seq, event FROM journal WHERE task = ? ORDER BY seq",
  );
  const selectOwner = database.prepare<{ owner: string | null }>("SELECT owner FROM task WHERE id = ?");
  const selectIds = database.prepare<{ id: string }>(
    "SELECT id FROM task WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id LIMIT ?2",
  );
  const selectOwned = database.prepare<{ id: string }>("SELECT id FROM task WHERE owner = ?");
  const setOwner = database.prepare(
    "UPDATE task SET owner = ?, directory = ?, database = ? WHERE id = ? AND owner IS NULL",
  );
  const clearOwner = database.prepare("UPDATE task SET owner = NULL WHERE id = ? AND owner = ?");

  const changing = ({ task, snapshot }: TaskRecord): Value[] => [
    task.status,
    snapshot.context.completedAt ?? null,
    isAtRest(snapshot) ? null : me.id,
    me.directory,
    me.database,
    JSON.stringify(snapshot),
    JSON.stringify(task.progress),
  ];

  return {
    /** Inserts a task; false when the file has it. `origin` is null when the journal does not go back to the launch. */
    insert: (record: TaskRecord, origin: TaskInput | null): boolean => {
      const { sessionID, parentSessionID, parentTaskId = null, startedAt } = record.task;
      const launched = [sessionID, parentSessionID, parentTaskId, Date.parse(startedAt)];
      return insertTask.run(...changing(record), ...launched, origin && JSON.stringify(origin)) > 0;
    },
    /**
     * False when the task does not exist, is another owner's, or, for `own`, has no owner. `free` updates tasks without an
     * owner too.
     */
    update: (record: TaskRecord, whose: "own" | "free"): boolean =>
      (whose === "own" ? updateOwn : updateFree).run(...changing(record), record.task.sessionID, me.id) > 0,
    append: ({ taskId, event }: JournalEntry) => void insertEvent.run(taskId, JSON.stringify(event)),
    /** False when the task does not exist, or is another owner's. */
    storeProgress: (taskId: string, progress: Progress): boolean =>
      updateProgress.run(JSON.stringify(progress), taskId, me.id) > 0,
    remove: (taskId: string) => void deleteTask.run(taskId),
    /** Deletes some of the tasks in this owner's directory that `retention` does not keep, and returns how many. */
    sweep: ({ days, count }: Retention, now: number): number =>
      (days === undefined ? 0 : deleteOlder.run(me.directory, now - days * DAY)) +
      (count === undefined ? 0 : deleteBeyond.run(me.directory, count)),

    get: (taskId: string): TaskRecord | undefined => {
      const row = selectRecord.get(taskId);
      return row && rows.record(row);
    },
    list: (filter: TaskFilter): Task[] => {
      const columns = { parent: filter.parentSessionID, lead: filter.parentTaskId };
      const given = Object.entries(columns).flatMap(([column, value]) =>
        value === undefined ? [] : [{ column, value }],
      );
      const where = given.length > 0 ? `WHERE ${given.map(({ column }) => `${column} = ?`).join(" AND ")}` : "";
      return database
        .prepare<RecordRow>(`SELECT id, snapshot, progress FROM task ${where} ORDER BY started_at, seq`)
        .all(...given.map(({ value }) => value))
        .flatMap((row) => rows.record(row)?.task ?? []);
    },
    journal: (taskId: string): TaskEvent[] =>
      selectEvents
        .all(taskId)
        .flatMap(({ seq, event }) => rows.value<TaskEvent>("journal", `${seq} of task ${taskId}`, event) ?? []),

    /** Undefined when the task does not exist, null when it has no owner. */
    ownerOf: (taskId: string): string | null | undefined => selectOwner.get(taskId)?.owner,
    idsStartingWith: (beginning: string, limit: number): string[] =>
      selectIds.all(beginning, limit).map(({ id }) => id),
    ownedByMe: (): string[] => selectOwned.all(me.id).map(({ id }) => id),
    /** Makes this owner the owner of a task that has none. False when it has one, or does not exist. */
    claim: (taskId: string): boolean => setOwner.run(me.id, me.directory, me.database, taskId) > 0,
    release: (taskId: string) => void clearOwner.run(taskId, me.id),
  };
};
