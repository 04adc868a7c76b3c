import { rmSync } from "node:fs";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Owner } from "../ownership.ts";
import type { TaskRecord } from "../store.ts";
import type { createStoreFile, LogIdentity } from "./database-file.ts";
import { type Database, DatabaseError, databaseError, type OpenDatabase } from "./driver.ts";
import { ensureSchema, type JournalMode } from "./schema.ts";
import { createSqliteStore, type SqliteStore } from "./sqlite-store.ts";
import type { OnDamaged } from "./text-table.ts";

/** An open file with the store in it. */
export interface OpenFile {
  store: SqliteStore;
  /** See `createStoreFile`. */
  identity: string | undefined;
  /** The write-ahead log that the store writes to. */
  log: LogIdentity;
}

/**
 * The condition of an open file: `whole`; `replaced`, which includes moved and removed; or `logReplaced`: its write-ahead
 * log was replaced or removed, so that other processes cannot read what this one writes.
 */
export type Condition = "whole" | "replaced" | "logReplaced";

/** A file that is shared, and who shares it. */
interface SharedFile {
  file: ReturnType<typeof createStoreFile>;
  openDatabase: OpenDatabase;
  owner: Owner;
  clock: Clock;
  log: Log;
  /** Returns whether a process of this machine is alive. Default: asks the system; only tests need another. */
  running?: ((process: Pick<Owner, "pid" | "startedAt">) => boolean) | undefined;
}

/** The most files that a process sets aside. If new files are damaged again and again, the disk is broken. */
const MAX_DAMAGED_FILES = 3;

/** Creates what opens and reopens the file. Its methods throw `DatabaseError`. */
export const createConnector = ({ file, openDatabase, owner, clock, log, running }: SharedFile) => {
  let damaged = 0;
  let recordInMemory: (taskId: string) => TaskRecord | undefined = () => undefined;
  /** The damaged rows that were logged: each is logged once. */
  const reported = new Set<string>();

  const onDamaged: OnDamaged = ({ table, id, reason }) => {
    const row = `${table} ${id}`;
    const inMemory = table === "task" ? recordInMemory(id) : undefined;
    if (reported.has(row)) return inMemory;
    reported.add(row);
    const message = inMemory
      ? `A row of the task database is damaged (${row}). It is rewritten from memory: nothing is lost.`
      : `A row of the task database is damaged (${row}). It is ignored, and stays in the file; all other rows are used.`;
    log.error(message, { file: file.path, table, id, reason });
    return inMemory;
  };

  /** Renames the file as damaged, unless it is not the one of that identity any more. `reason` is for the log. */
  const setAside = (identity: string | undefined, reason: string) => {
    damaged += 1;
    if (damaged > MAX_DAMAGED_FILES) {
      throw new DatabaseError("other", `${MAX_DAMAGED_FILES} files were damaged one after another: ${reason}`);
    }
    const name = file.setAside(identity, "damaged", clock.now());
    if (name === undefined) return;
    log.error(
      "The task database is damaged. It was set aside, and a new one started: tasks that ended before are no longer listed.",
      {
        file: file.path,
        setAside: name,
        reason,
      },
    );
  };

  /** Nothing in it is deleted: somebody may have tried such a build out, and look for what it did. */
  const setUnreleasedAside = (identity: string | undefined) => {
    const name = file.setAside(identity, "unreleased", clock.now());
    if (name === undefined) return;
    const message =
      "The task database is of a build from before the first release. It was set aside as it is, and a new one started.";
    log.info(message, { file: file.path, setAside: name });
  };

  let isReported = false;
  const reportJournal = (journal: JournalMode) => {
    if (journal === "log" || isReported) return;
    isReported = true;
    log.info(
      "The task database is on a file system without shared memory, as network and shared folders are. It is kept with a rollback journal, which is slower; nothing else differs.",
      { file: file.path },
    );
  };

  /** A file that nobody else knows is locked by nobody: where it seems to be, no file can be locked. */
  const unlessUnlockable = (fault: DatabaseError): DatabaseError => {
    if (fault.kind !== "busy") return fault;
    const kind = probe(openDatabase, file.path)?.kind;
    return kind === "busy" || kind === "unlockable"
      ? new DatabaseError("unlockable", `no file of its folder can be locked: ${fault.message}`, { cause: fault })
      : fault;
  };

  /** A disk without room for one more file passes, unlike most that keeps a file from being opened. */
  const unlessFull = (fault: DatabaseError): DatabaseError => {
    if (fault.kind !== "unopenable") return fault;
    try {
      file.tryToCreate();
      return fault;
    } catch (error) {
      const why = databaseError(error);
      return why.kind === "full" ? why : fault;
    }
  };

  const open = (identity: string | undefined): OpenFile => {
    const { database, journal } = openWithJournal(openDatabase, file.path);
    try {
      ensureSchema(database, journal);
      reportJournal(journal);
      const store = createSqliteStore({ database, owner, now: clock.now, onDamaged, running });
      if (file.identity() !== identity) throw new DatabaseError("busy", "it was replaced while it was opened");
      return { store, identity, log: file.log() };
    } catch (error) {
      database.close();
      throw error;
    }
  };

  /** A killed process leaves both files of the log, a closed one neither. With one only, the other was removed. */
  const reportLostLog = () => {
    const { wal, shm } = file.log();
    if (shm === undefined || wal !== undefined) return;
    log.error(
      "The task database lacks its write-ahead log: the changes stored last before OpenCode ended are lost, and tasks go on from what the file has.",
      { file: file.path, missing: `${file.path}-wal` },
    );
  };

  const tighten = () => {
    const { tightened, refused } = file.tighten();
    if (tightened.length > 0) {
      log.info("Other users of this machine could read the tasks. Now they cannot.", { tightened });
    }
    if (refused.length > 0) {
      const advice = "Give only yourself access to the folder and its files (chmod 700, chmod 600).";
      log.error("Other users of this machine may be able to read the tasks.", { refused, advice });
    }
  };

  const conditionOf = (connection: OpenFile): Condition => {
    if (file.identity() !== connection.identity) return "replaced";
    const known = connection.log;
    // Without a log, changes go directly into the file.
    if (known.wal === undefined && known.shm === undefined) return "whole";
    const { wal, shm } = file.log();
    return wal === known.wal && shm === known.shm ? "whole" : "logReplaced";
  };

  return {
    /** Opens the file, or a new one: one that is damaged, or of a build from before the first release, is set aside first. */
    connect: (): OpenFile => {
      for (;;) {
        file.prepare();
        tighten();
        const identity = file.identity();
        reportLostLog();
        try {
          return open(identity);
        } catch (error) {
          const fault = databaseError(error);
          if (fault.kind === "unreleased") setUnreleasedAside(identity);
          else if (fault.kind === "damaged") setAside(identity, fault.message);
          else throw unlessFull(unlessUnlockable(fault));
        }
      }
    },
    /** Opens a database in memory with empty tables. */
    openInMemory: (): Database => {
      const database = openDatabase(":memory:");
      ensureSchema(database);
      return database;
    },
    setAside,
    /** Sets where to find the record of a task whose row is damaged. */
    setRecordFallback: (recordOf: (taskId: string) => TaskRecord | undefined) => {
      recordInMemory = recordOf;
    },
    conditionOf,
    /** Starts a new log for a file in condition `logReplaced`. Undefined when other processes have the file open. */
    reconnect: (connection: OpenFile): OpenFile | undefined => {
      const { wal } = file.log();
      // A new log that another process writes to must be neither overwritten nor removed.
      if (wal !== undefined && wal !== connection.log.wal) return undefined;
      return connection.store.renewLog() ? { ...connection, log: file.log() } : undefined;
    },
  };
};

/**
 * Tries out what the file system of a file can do, with a file beside it that nobody else knows. Returns why a write-ahead log
 * cannot be used there: `unshared`, or `busy` or `unlockable` where no file can be locked. Undefined where it can.
 */
const probe = (openDatabase: OpenDatabase, path: string): DatabaseError | undefined => {
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
const openWithJournal = (openDatabase: OpenDatabase, path: string): { database: Database; journal: JournalMode } => {
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
