import { existsSync } from "node:fs";
import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import type { Journal } from "../../../machines/task/replay.ts";
import type { Progress, TaskStatus, Usage } from "../../../task.ts";
import type { KnownOwner } from "../ownership.ts";
import { usageWith } from "../task-usage.ts";
import { type Database, DatabaseError, type OpenDatabase } from "./driver.ts";
import { createTasksBelow } from "./listed-table.ts";
import { type OwnerRow, toKnownOwner } from "./ownership-tables.ts";
import { isUnreleased, refuseOthers, VERSION, versionOf } from "./schema.ts";
import { createTextReader, parsePacked, parseStored } from "./text-table.ts";

/** The fields by which a person recognizes a task. */
export interface NamedTask {
  id: string;
  status: TaskStatus;
  /** Epoch milliseconds. */
  startedAt: number;
  description: string;
}

/** Reads journals from a file that other processes may be writing. Changes nothing. Its methods throw `DatabaseError`. */
export interface JournalReader {
  /** The version of the file's schema. */
  schema: number;
  /** Returns the task with exactly this id, or else all whose ids start with it, newest first. */
  find(id: string): NamedTask[];
  /** Returns the tasks launched last, newest first. */
  newest(count: number): NamedTask[];
  /** Returns the tasks that were launched from `since` until before `until`, epoch milliseconds, in that order. */
  launchedBetween(since: number, until: number): NamedTask[];
  /** Returns what the task has done; undefined when it does not exist. */
  progress(taskId: string): Progress | undefined;
  /** Returns journal and snapshot of the same moment; undefined when the task does not exist. */
  journal(taskId: string): Journal | undefined;
  /** Returns a task as it is stored; undefined when it does not exist. */
  task(taskId: string): StoredTask | undefined;
  /** Returns what a task used with all tasks below it; undefined when the task does not exist. */
  usage(taskId: string): Usage | undefined;
  close(): void;
}

/** A task as it is stored, with the tasks below it. */
interface StoredTask {
  snapshot: StoredSnapshot;
  progress: Progress;
  /** Of its own runs, and of all tasks below it. */
  usage: Usage;
  /** The tasks that it launched itself. */
  childTaskIds: string[];
}

/** Milliseconds to wait for a lock. Longer than in the plugin, where the wait blocks the host. */
const LOCK_TIMEOUT_MS = 2_000;

interface TaskRow {
  seq: number;
  snapshot: string;
  origin: string | null;
}

/** Reads a task's journal. Throws `DatabaseError` of kind `damaged` when a row or a text of it is. */
export const readJournal = (database: Database, taskId: string): Journal | undefined => {
  const row = database.prepare<TaskRow>("SELECT seq, snapshot, origin FROM task WHERE id = ?").get(taskId);
  if (!row) return undefined;
  const textOf = createTextReader(database)(row.seq);
  const snapshot = parsePacked<StoredSnapshot>(row.snapshot, textOf);
  const events = database.prepare<{ event: string }>("SELECT event FROM journal WHERE task = ? ORDER BY seq");
  return {
    taskId,
    // What a task is about never changes; the run does when it is resumed.
    origin:
      row.origin === null
        ? null
        : { facts: snapshot.context.facts, run: parsePacked<TaskInput["run"]>(row.origin, textOf) },
    events: events.all(row.seq).map(({ event }) => parsePacked<TaskEvent>(event, textOf)),
    snapshot,
  };
};

const readUsage = (database: Database, taskId: string): Usage | undefined => {
  const ownUsage = database.prepare<Usage>("SELECT tokens, cost FROM listed WHERE id = ?").get(taskId);
  return ownUsage && usageWith(createTasksBelow(database)([taskId]))({ sessionID: taskId, ownUsage });
};

const readTask = (database: Database, taskId: string): StoredTask | undefined => {
  const row = database
    .prepare<{ seq: number; snapshot: string; progress: string }>(
      "SELECT seq, snapshot, progress FROM task WHERE id = ?",
    )
    .get(taskId);
  const usage = readUsage(database, taskId);
  if (!row || !usage) return undefined;
  return {
    snapshot: parsePacked<StoredSnapshot>(row.snapshot, createTextReader(database)(row.seq)),
    progress: parseStored<Progress>(row.progress),
    usage,
    childTaskIds: createTasksBelow(database)([taskId]).flatMap(({ sessionID, parentTaskId }) =>
      parentTaskId === taskId ? [sessionID] : [],
    ),
  };
};

const COLUMNS = "id, status, started_at AS startedAt, description";

/**
 * Opens a file for reading; `openDatabase` must open it read-only. Throws `DatabaseError`, also when the file does not
 * exist, or its tables are not those of this version of the plugin.
 */
export const openJournalReader = (path: string, openDatabase: OpenDatabase): JournalReader => {
  if (!existsSync(path)) throw new DatabaseError("unopenable", "there is no such file");
  const database = openDatabase(path);

  /** Runs `work` in a read transaction: everything it reads is of the same moment. */
  const inOneTransaction = <T>(work: () => T): T => {
    database.exec("BEGIN");
    try {
      return work();
    } finally {
      database.exec("COMMIT");
    }
  };

  const check = () => {
    database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
    refuseOthers(database);
    if (versionOf(database) > 0) return;
    throw new DatabaseError("other", "it has no tables yet: OpenCode makes them when it starts with this plugin");
  };

  try {
    check();
  } catch (error) {
    database.close();
    throw error;
  }

  return {
    schema: VERSION,
    find: (id) => {
      const select = (where: string) => database.prepare<NamedTask>(`SELECT ${COLUMNS} FROM listed WHERE ${where}`);
      const exact = select("id = ?").all(id);
      return exact.length > 0 ? exact : select("substr(id, 1, length(?1)) = ?1 ORDER BY born DESC").all(id);
    },
    newest: (count) =>
      database.prepare<NamedTask>(`SELECT ${COLUMNS} FROM listed ORDER BY born DESC LIMIT ?`).all(count),
    launchedBetween: (since, until) =>
      database
        .prepare<NamedTask>(
          `SELECT ${COLUMNS} FROM listed WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born`,
        )
        .all(since, until),
    progress: (taskId) => {
      const row = database.prepare<{ progress: string }>("SELECT progress FROM task WHERE id = ?").get(taskId);
      return row && parseStored<Progress>(row.progress);
    },
    journal: (taskId) => inOneTransaction(() => readJournal(database, taskId)),
    task: (taskId) => inOneTransaction(() => readTask(database, taskId)),
    usage: (taskId) => inOneTransaction(() => readUsage(database, taskId)),
    close: database.close,
  };
};

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

/** Pieces of damage that are named at most. */
const MAX_DAMAGE = 5;

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
    const schema = { file, known: VERSION, isUnreleased: isUnreleased(database) };
    const report = { schema, damage };
    if (file !== VERSION || schema.isUnreleased) return { ...report, tasks: undefined, owners: [] };
    const counted = database
      .prepare<{ total: number; live: number }>(
        "SELECT count(*) AS total, count(*) FILTER (WHERE status IN ('running', 'resumed')) AS live FROM listed",
      )
      .get();
    const owners = database
      .prepare<OwnerRow>("SELECT id, pid, machine, started_at, directory, beat_at FROM owner")
      .all();
    return {
      ...report,
      tasks: { all: counted?.total ?? 0, live: counted?.live ?? 0 },
      owners: owners.map(toKnownOwner),
    };
  } catch (error) {
    // A page that cannot be read ends the check itself.
    if (error instanceof DatabaseError && error.kind === "damaged") {
      const schema = { file: 0, known: VERSION, isUnreleased: false };
      return { schema, damage: [error.message], tasks: undefined, owners: [] };
    }
    throw error;
  } finally {
    database.close();
  }
};
