import { rmSync } from "node:fs";
import { type Database, type DatabaseError, databaseError, type OpenDatabase } from "./database.ts";

/**
 * How changes get into a file: by a write-ahead log, so that many may read while one writes; or by a rollback journal, where
 * the file system has no memory that processes could share, as network and shared folders have none.
 */
export type JournalMode = "log" | "rollback";

/**
 * Tries out what the file system of a file can do, with a file beside it that nobody else knows. Returns why a write-ahead log
 * cannot be used there: `unshared`, or `busy` or `unlockable` where no file can be locked. Undefined where it can.
 */
export const probe = (openDatabase: OpenDatabase, path: string): DatabaseError | undefined => {
  const file = `${path}.probe-${process.pid}`;
  try {
    const database = openDatabase(file);
    try {
      database.prepare("PRAGMA journal_mode = WAL").get();
      database.exec("CREATE TABLE probe (id)");
    } finally {
      database.close();
    }
    return undefined;
  } catch (error) {
    return databaseError(error);
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(file + suffix, { force: true });
  }
};

/** Takes a file out of a write-ahead log that was begun elsewhere. */
const leaveLog = (openDatabase: OpenDatabase, path: string) => {
  const database = openDatabase(path, "alone");
  try {
    database.prepare("PRAGMA journal_mode = DELETE").get();
  } finally {
    database.close();
  }
  // The index of a log that is no more.
  rmSync(`${path}-shm`, { force: true });
};

/** Opens a file, and returns whether it has a write-ahead log. */
const openAsItIs = (openDatabase: OpenDatabase, path: string): { database: Database; hasLog: boolean } => {
  const database = openDatabase(path);
  try {
    // Before its first read, SQLite does not know.
    database.prepare("PRAGMA user_version").get();
    const mode = database.prepare<{ journal_mode: string }>("PRAGMA journal_mode").get()?.journal_mode;
    return { database, hasLog: mode === "wal" };
  } catch (error) {
    database.close();
    throw error;
  }
};

/** Opens a file, and returns which journal it is to have on its file system. Throws `DatabaseError`. */
export const openWithJournal = (
  openDatabase: OpenDatabase,
  path: string,
): { database: Database; journal: JournalMode } => {
  const open = () => openAsItIs(openDatabase, path);
  let opened: ReturnType<typeof open>;
  try {
    opened = open();
  } catch (error) {
    if (databaseError(error).kind !== "unshared") throw error;
    leaveLog(openDatabase, path);
    opened = open();
  }
  const { database, hasLog } = opened;
  // To try a log with the file itself would take it away from processes that use it with the other journal.
  if (hasLog || probe(openDatabase, path)?.kind !== "unshared") return { database, journal: "log" };
  // With a rollback journal, a power cut could damage the file otherwise.
  database.exec("PRAGMA synchronous = FULL");
  return { database, journal: "rollback" };
};
