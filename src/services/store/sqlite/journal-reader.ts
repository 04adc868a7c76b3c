import { existsSync } from "node:fs";
import type { TaskEvent } from "../../../machines/task/events.ts";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import type { Journal } from "../../../machines/task/replay.ts";
import type { Progress, TaskStatus, Usage } from "../../../task.ts";
import type { KnownOwner } from "../ownership.ts";
import { usageWith } from "../task-usage.ts";
import { type Database, DatabaseError, type OpenDatabase } from "./driver.ts";
import { createTasksBelow } from "./listed-table.ts";
import { isUnreleased, OWNER_COLUMNS, refuseOthers, SCHEMA_VERSION, versionOf } from "./schema.ts";
import { originIn } from "./stored-origin.ts";
import { createTextReader, parsePacked, parseStored } from "./text-table.ts";

/** The fields by which a person recognizes a task. */
export interface NamedTask {
  id: string;
  status: TaskStatus;
  /** Epoch milliseconds. */
  startedAt: number;
  description: string;
}

export type JournalReader = ReturnType<typeof openJournalReader>;

/** Milliseconds to wait for a lock. Longer than in the plugin, where the wait blocks the host. */
const LOCK_TIMEOUT_MS = 2_000;

/** Reads a task's journal. Throws `DatabaseError` of kind `damaged` when a row or a text of it is. */
export const readJournal = (database: Database, taskId: string): Journal | undefined => {
  const row = database
    .prepare<{ seq: number; snapshot: string; origin: string | null }>(
      "SELECT seq, snapshot, origin FROM task WHERE id = ?",
    )
    .get(taskId);
  if (!row) return undefined;
  const textOf = createTextReader(database)(row.seq);
  const snapshot = parsePacked<StoredSnapshot>(row.snapshot, textOf);
  const events = database.prepare<{ event: string }>("SELECT event FROM journal WHERE task = ? ORDER BY seq");
  return {
    taskId,
    origin: row.origin === null ? null : originIn(parsePacked(row.origin, textOf), snapshot.context.facts),
    events: events.all(row.seq).map(({ event }) => parsePacked<TaskEvent>(event, textOf)),
    snapshot,
  };
};

const COLUMNS = "id, status, started_at AS startedAt, description";

/**
 * Opens a file that other processes may be writing, to read what it has of tasks; `openDatabase` must open it read-only. Throws
 * `DatabaseError`, as its methods do, also when the file does not exist, or its tables are not those of this version of the
 * plugin.
 */
export const openJournalReader = (path: string, openDatabase: OpenDatabase) => {
  if (!existsSync(path)) throw new DatabaseError("unopenable", "there is no such file");
  const database = openDatabase(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
    refuseOthers(database);
    if (versionOf(database) === 0)
      throw new DatabaseError("other", "it has no tables yet: OpenCode makes them when it starts with this plugin");
  } catch (error) {
    database.close();
    throw error;
  }

  const select = (where: string) => database.prepare<NamedTask>(`SELECT ${COLUMNS} FROM listed ${where}`);
  const tasksBelow = createTasksBelow(database);

  const usageOf = (taskId: string): Usage | undefined => {
    const ownUsage = database.prepare<Usage>("SELECT tokens, cost FROM listed WHERE id = ?").get(taskId);
    return ownUsage && usageWith(tasksBelow([taskId]))({ sessionID: taskId, ownUsage });
  };

  const taskOf = (taskId: string) => {
    const row = database
      .prepare<{ seq: number; snapshot: string; progress: string }>(
        "SELECT seq, snapshot, progress FROM task WHERE id = ?",
      )
      .get(taskId);
    const usage = usageOf(taskId);
    if (!row || !usage) return undefined;
    return {
      snapshot: parsePacked<StoredSnapshot>(row.snapshot, createTextReader(database)(row.seq)),
      progress: parseStored<Progress>(row.progress),
      usage,
      childTaskIds: tasksBelow([taskId]).flatMap(({ sessionID, parentTaskId }) =>
        parentTaskId === taskId ? [sessionID] : [],
      ),
    };
  };

  return {
    /** The version of the file's schema. */
    schema: SCHEMA_VERSION,
    /** Returns the task with exactly this id, or else all whose ids start with it, newest first. */
    find: (id: string): NamedTask[] => {
      const exact = select("WHERE id = ?").all(id);
      return exact.length > 0 ? exact : select("WHERE substr(id, 1, length(?1)) = ?1 ORDER BY born DESC").all(id);
    },
    /** Returns the tasks launched last, newest first. */
    newest: (count: number): NamedTask[] => select("ORDER BY born DESC LIMIT ?").all(count),
    /** Returns the tasks that were launched from `since` until before `until`, epoch milliseconds, in that order. */
    launchedBetween: (since: number, until: number): NamedTask[] =>
      select("WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born").all(since, until),
    /** Returns what the task has done; undefined when it does not exist. */
    progress: (taskId: string): Progress | undefined => {
      const row = database.prepare<{ progress: string }>("SELECT progress FROM task WHERE id = ?").get(taskId);
      return row && parseStored<Progress>(row.progress);
    },
    /** Returns journal and snapshot of the same moment; undefined when the task does not exist. */
    journal: (taskId: string) => database.snapshot(() => readJournal(database, taskId)),
    /**
     * Returns a task as it is stored, with what it used together with all tasks below it, and the tasks that it launched itself;
     * undefined when it does not exist.
     */
    task: (taskId: string) => database.snapshot(() => taskOf(taskId)),
    /** Returns what a task used with all tasks below it; undefined when the task does not exist. */
    usage: (taskId: string) => database.snapshot(() => usageOf(taskId)),
    close: database.close,
  };
};

/** Pieces of damage that are named at most. */
const MAX_DAMAGE = 5;

/** How a task database is, for somebody who looks for what is wrong. */
export interface FileReport {
  /** The version of the file's tables, and the version that this plugin reads; whether a build from before the first release wrote it. */
  schema: { file: number; known: number; isUnreleased: boolean };
  /** What SQLite finds damaged; empty where nothing is. */
  damage: string[];
  /** How many tasks it has, and how many of them have not ended; undefined where its schema is another. */
  tasks: { all: number; live: number } | undefined;
  /** The processes that supervise tasks, alive or not; empty where its schema is another. */
  owners: KnownOwner[];
}

/**
 * Reads how a file is. Changes nothing; `openDatabase` must open it read-only. Reads all of the file, some 100 MB a second.
 * @throws DatabaseError when it cannot be opened, or is no database
 */
export const readFileReport = (path: string, openDatabase: OpenDatabase): FileReport => {
  const database = openDatabase(path);
  try {
    const file = versionOf(database);
    const found = database.prepare<{ quick_check: string }>(`PRAGMA quick_check(${MAX_DAMAGE})`).all();
    const damage = found.flatMap(({ quick_check: line }) => (line === "ok" ? [] : [line]));
    const schema = { file, known: SCHEMA_VERSION, isUnreleased: isUnreleased(database) };
    if (file !== SCHEMA_VERSION || schema.isUnreleased) return { schema, damage, tasks: undefined, owners: [] };
    const [tasks = { all: 0, live: 0 }] = database
      .prepare<{ all: number; live: number }>(
        `SELECT count(*) AS "all", count(*) FILTER (WHERE status IN ('running', 'resumed')) AS live FROM listed`,
      )
      .all();
    return { schema, damage, tasks, owners: database.prepare<KnownOwner>(`SELECT ${OWNER_COLUMNS} FROM owner`).all() };
  } catch (error) {
    // A page that cannot be read ends the check itself.
    if (!(error instanceof DatabaseError && error.kind === "damaged")) throw error;
    const schema = { file: 0, known: SCHEMA_VERSION, isUnreleased: false };
    return { schema, damage: [error.message], tasks: undefined, owners: [] };
  } finally {
    database.close();
  }
};
