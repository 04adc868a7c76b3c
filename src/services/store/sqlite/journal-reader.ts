import { existsSync } from "node:fs";
import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import type { Journal } from "../../../machines/task/journal.ts";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import type { TaskStatus } from "../../../task.ts";
import { DatabaseError, type OpenDatabase } from "./database.ts";
import { migrations, refuseNewer, versionOf } from "./migrations.ts";
import { parsed } from "./rows.ts";

/** As much of a task as it takes to tell it from others. */
export interface NamedTask {
  id: string;
  status: TaskStatus;
  /** Epoch milliseconds. */
  startedAt: number;
  description: string;
}

/** The journals in a file that belongs to others, who may be writing in it. Nothing is changed. Throws `DatabaseError`. */
export interface JournalReader {
  /** The version of the file. */
  schema: number;
  /** The task of that id alone; else those whose ids begin so, newest first. */
  find(id: string): NamedTask[];
  /** The tasks that were launched last, newest first. */
  newest(count: number): NamedTask[];
  /** Journal and snapshot of one moment; undefined when there is no such task. */
  journal(taskId: string): Journal | undefined;
  close(): void;
}

/** Milliseconds to wait for a lock: nobody stands still meanwhile, as the host would. */
const LOCK_TIMEOUT_MS = 2_000;

const COLUMNS = "id, status, started_at AS startedAt, description";

/** `openDatabase` opens for reading only. Throws `DatabaseError`, of an older file and of one that is not there too. */
export const openJournalReader = (path: string, openDatabase: OpenDatabase): JournalReader => {
  if (!existsSync(path)) throw new DatabaseError("unopenable", "there is no such file");
  const database = openDatabase(path);

  /** What is read in `work` is all of one moment. */
  const atOnce = <T>(work: () => T): T => {
    database.exec("BEGIN");
    try {
      return work();
    } finally {
      database.exec("COMMIT");
    }
  };

  const check = () => {
    database.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
    refuseNewer(database);
    const version = versionOf(database);
    if (version === migrations.length) return;
    throw new DatabaseError(
      "other",
      `it has version ${version}, and this plugin reads version ${migrations.length}: OpenCode brings it up to date when it starts with this plugin`,
    );
  };

  try {
    check();
  } catch (error) {
    database.close();
    throw error;
  }

  return {
    schema: migrations.length,
    find: (id) => {
      const select = (where: string) => database.prepare<NamedTask>(`SELECT ${COLUMNS} FROM listed WHERE ${where}`);
      const exact = select("id = ?").all(id);
      return exact.length > 0 ? exact : select("substr(id, 1, length(?1)) = ?1 ORDER BY born DESC").all(id);
    },
    newest: (count) =>
      database.prepare<NamedTask>(`SELECT ${COLUMNS} FROM listed ORDER BY born DESC LIMIT ?`).all(count),
    journal: (taskId) =>
      atOnce(() => {
        const row = database
          .prepare<{ snapshot: string; origin: string | null }>("SELECT snapshot, origin FROM task WHERE id = ?")
          .get(taskId);
        if (!row) return undefined;
        const events = database
          .prepare<{ event: string }>("SELECT event FROM journal WHERE task = ? ORDER BY seq")
          .all(taskId);
        return {
          taskId,
          origin: row.origin === null ? null : parsed<TaskInput>(row.origin),
          events: events.map(({ event }) => parsed<TaskEvent>(event)),
          snapshot: parsed<StoredSnapshot>(row.snapshot),
        };
      }),
    close: database.close,
  };
};
