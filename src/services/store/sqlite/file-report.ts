import type { KnownOwner } from "../ownership.ts";
import { DatabaseError, type OpenDatabase } from "./database.ts";
import { type OwnerRow, toKnownOwner } from "./ownership-tables.ts";
import { isUnreleased, VERSION, versionOf } from "./schema.ts";

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
