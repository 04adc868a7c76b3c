import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import type { Progress } from "../../../task.ts";
import type { Owner } from "../ownership.ts";
import type { Retention, TaskRecord } from "../store.ts";
import type { Database, Value } from "./driver.ts";
import { originIn, type StoredOrigin, storedOrigin } from "./stored-origin.ts";
import {
  createTextReader,
  type createTextTable,
  pack,
  RECORD_COLUMNS,
  type RecordRow,
  type RowReader,
  type TextReference,
} from "./text-table.ts";

type StoreText = (text: string) => TextReference;

const DAY = 86_400_000;

/** Rows that a sweep deletes at most: that blocks the host for some milliseconds. */
const SWEEP_BATCH = 200;

/** Reads and writes the tables `task` and `journal`, and the texts that both refer to. Writing needs a transaction. */
export const createTaskTable = (
  database: Database,
  me: Owner,
  rows: RowReader,
  texts: ReturnType<typeof createTextTable>,
) => {
  const textsOf = createTextReader(database);
  const selectHeld = database.prepare<{ seq: number; owner: string | null }>(
    "SELECT seq, owner FROM task WHERE id = ?",
  );
  const selectFree = database.prepare<{ isKnown: number; seq: number }>(
    "SELECT EXISTS (SELECT 1 FROM task WHERE id = ?) AS isKnown, ifnull(max(seq), 0) + 1 AS seq FROM task",
  );
  const selectOwner = database.prepare<{ owner: string | null }>("SELECT owner FROM task WHERE id = ?");
  const insertTask = database.prepare(
    `INSERT INTO task (status, ended_at, owner, directory, database, progress, snapshot, seq, id, parent, lead, started_at, origin)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const updateTask = database.prepare(
    `UPDATE task SET status = ?, ended_at = ?, owner = ?, directory = ?, database = ?, progress = ?, snapshot = ?
     WHERE seq = ?`,
  );
  const insertEvent = database.prepare("INSERT INTO journal (task, event) VALUES (?, ?)");
  const updateProgress = database.prepare("UPDATE task SET progress = ? WHERE id = ? AND (owner = ? OR owner IS NULL)");
  const deleteTask = database.prepare("DELETE FROM task WHERE id = ?");
  const deleteOlder = database.prepare(
    `DELETE FROM task WHERE seq IN (
       SELECT seq FROM task WHERE owner IS NULL AND directory = ? AND ended_at < ? LIMIT ${SWEEP_BATCH})`,
  );
  // Without as many ended tasks, there is nothing to skip them for, which takes some milliseconds for 100,000.
  const deleteBeyond = database.prepare(
    `DELETE FROM task WHERE seq IN (
       SELECT seq FROM task WHERE owner IS NULL AND directory = ?1 AND ended_at IS NOT NULL
         AND id NOT IN (SELECT value FROM json_each(?3))
       ORDER BY ended_at DESC, seq DESC LIMIT iif((SELECT sum(ended) FROM tally) > ?2, ${SWEEP_BATCH}, 0) OFFSET ?2)`,
  );
  const selectRecord = database.prepare<RecordRow>(`SELECT ${RECORD_COLUMNS} FROM task WHERE id = ?`);
  const selectEvents = database.prepare<{ seq: number; event: string }>(
    "SELECT seq, event FROM journal WHERE task = ? ORDER BY seq",
  );
  const selectOrigin = database.prepare<{ seq: number; origin: string | null }>(
    "SELECT seq, origin FROM task WHERE id = ?",
  );
  const selectCount = database.prepare<{ tasks: number }>("SELECT count(*) AS tasks FROM task WHERE parent = ?");
  const countOwned = database.prepare<{ tasks: number }>("SELECT count(*) AS tasks FROM task WHERE owner = ?");
  const selectOwned = database.prepare<{ id: string }>("SELECT id FROM task WHERE owner = ?");
  const setOwner = database.prepare(
    "UPDATE task SET owner = ?, directory = ?, database = ? WHERE id = ? AND owner IS NULL",
  );
  const clearOwner = database.prepare("UPDATE task SET owner = NULL WHERE id = ? AND owner = ?");

  // The first number changes when another connection writes, the second when this one does.
  const selectVersion = database.prepare<{ version: string }>(
    "SELECT data_version || ' ' || total_changes() AS version FROM pragma_data_version",
  );
  /**
   * The record that was read last, or that there is none, for as long as nobody writes: one call reads the same task several
   * times. No transaction reads a record after changing it, so what is here was stored.
   */
  let latest: { id: string; record: TaskRecord | undefined; version: string | undefined } | undefined;

  const packed = (value: unknown, store: StoreText): string => JSON.stringify(pack(value, store));

  const changing = ({ task, snapshot }: TaskRecord, store: StoreText): Value[] => [
    task.status,
    snapshot.context.completedAt ?? null,
    isAtRest(snapshot) ? null : me.id,
    me.directory,
    me.database,
    JSON.stringify(task.progress),
    packed(snapshot, store),
  ];

  const append = (task: number, events: readonly TaskEvent[], store: StoreText) => {
    for (const event of events) insertEvent.run(task, packed(event, store));
  };

  const get = (taskId: string): TaskRecord | undefined => {
    const version = selectVersion.get()?.version;
    if (latest?.id === taskId && latest.version === version) return latest.record;
    const row = selectRecord.get(taskId);
    const record = row && rows.record(row);
    latest = { id: taskId, record, version };
    return record;
  };

  return {
    /**
     * Inserts a task with its events; false when the file has it. `origin` is null when the journal does not go back to the
     * launch.
     */
    insert: (record: TaskRecord, events: readonly TaskEvent[], origin: TaskInput | null): boolean => {
      const { sessionID, parentSessionID, parentTaskId = null, startedAt } = record.task;
      const free = selectFree.get(sessionID);
      if (!free || free.isKnown) return false;
      const { seq } = free;
      // A task of this id that was removed had texts that are gone.
      texts.forget(sessionID);
      const store = texts.writerFor({ id: sessionID, seq });
      const launched = [seq, sessionID, parentSessionID, parentTaskId, Date.parse(startedAt)];
      insertTask.run(...changing(record, store), ...launched, origin && packed(storedOrigin(origin), store));
      append(seq, events, store);
      return true;
    },
    /**
     * Updates a task and appends events to its journal. False when the task does not exist, is another owner's, or, for
     * `own`, has no owner. `free` updates tasks without an owner too.
     */
    update: (record: TaskRecord, events: readonly TaskEvent[], whose: "own" | "free"): boolean => {
      const id = record.task.sessionID;
      const held = selectHeld.get(id);
      if (!held || (held.owner !== me.id && (whose === "own" || held.owner !== null))) return false;
      const store = texts.writerFor({ id, seq: held.seq });
      updateTask.run(...changing(record, store), held.seq);
      append(held.seq, events, store);
      return true;
    },
    /** Appends events to the journal of a task, if it exists. */
    append: (taskId: string, events: readonly TaskEvent[]) => {
      const held = selectHeld.get(taskId);
      if (held) append(held.seq, events, texts.writerFor({ id: taskId, seq: held.seq }));
    },
    /** False when the task does not exist, or is another owner's. */
    storeProgress: (taskId: string, progress: Progress): boolean =>
      updateProgress.run(JSON.stringify(progress), taskId, me.id) > 0,
    remove: (taskId: string) => void deleteTask.run(taskId),
    /** Deletes some of the tasks in this owner's directory that `retention` does not keep, and returns how many. */
    sweep: ({ days, count, uncounted = [] }: Retention, now: number): number =>
      (days === undefined ? 0 : deleteOlder.run(me.directory, now - days * DAY)) +
      (count === undefined ? 0 : deleteBeyond.run(me.directory, count, JSON.stringify(uncounted))),

    get,
    journal: (taskId: string): TaskEvent[] => {
      const held = selectHeld.get(taskId);
      if (!held) return [];
      const textOf = textsOf(held.seq);
      return selectEvents
        .all(held.seq)
        .flatMap(({ seq, event }) => rows.value<TaskEvent>("journal", `${seq} of task ${taskId}`, event, textOf) ?? []);
    },
    origin: (taskId: string): TaskInput | undefined => {
      const row = selectOrigin.get(taskId);
      const stored =
        row?.origin == null ? undefined : rows.value<StoredOrigin>("task", taskId, row.origin, textsOf(row.seq));
      const facts = stored && get(taskId)?.snapshot.context.facts;
      return stored && facts && originIn(stored, facts);
    },

    countOf: (parentSessionID: string): number => selectCount.get(parentSessionID)?.tasks ?? 0,
    /** Undefined when the task does not exist, null when it has no owner. */
    ownerOf: (taskId: string): string | null | undefined => selectOwner.get(taskId)?.owner,
    countOwnedByMe: (): number => countOwned.get(me.id)?.tasks ?? 0,
    ownedByMe: (): string[] => selectOwned.all(me.id).map(({ id }) => id),
    /** Makes this owner the owner of a task that has none. False when it has one, or does not exist. */
    claim: (taskId: string): boolean => setOwner.run(me.id, me.directory, me.database, taskId) > 0,
    release: (taskId: string) => void clearOwner.run(taskId, me.id),
  };
};
