import { createRequire } from "node:module";

/** The value of a column. */
export type Value = string | number | null | Uint8Array;

/** A prepared statement. Each method runs it, and throws `DatabaseError`. */
export interface Statement<Row> {
  /** Returns how many rows it inserted, updated or deleted itself, cascades not counted. */
  run(...values: Value[]): number;
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
}

/** A SQLite database, with the same interface under Bun and Node. Every method throws `DatabaseError`. */
export interface Database {
  /** Runs statements that return nothing. */
  exec(sql: string): void;
  /**
   * Prepares a statement, once for each text; a fault in the text is thrown when it is first run. `Row` is the type of
   * its rows, which is not checked.
   */
  prepare<Row = never>(sql: string): Statement<Row>;
  /**
   * Runs `work` in a transaction that holds the file's write lock. Stores all of it, or nothing when it throws. Must not
   * be nested.
   */
  transaction<T>(work: () => T): T;
  /** Does `work`, all of whose reads see the file as it is at the first of them. Must not be nested. */
  snapshot<T>(work: () => T): T;
  /** Closes the file. Does nothing when called again. */
  close(): void;
}

/**
 * Opens a database file, creating it if necessary; `alone` for as long as no other process has it open: then a write-ahead
 * log needs no shared memory. Throws `DatabaseError`.
 */
export type OpenDatabase = (path: string, how?: "alone") => Database;

/**
 * The kinds of faults that are handled differently:
 * - `damaged`: the file is not a database, or a corrupt one
 * - `newer`: the file was written by a newer version of this plugin
 * - `unreleased`: the file was written by a build from before the first release, with tables of another form
 * - `full`: the disk or the quota is full
 * - `readonly`: the file cannot be written
 * - `unopenable`: the file or its folder cannot be opened or created
 * - `unshared`: the file system gives programs no memory to share, which a write-ahead log needs
 * - `unlockable`: the file system has no locks, without which processes would damage the file
 * - `busy`: another process has locked the file
 * - `contested`: no lock could be had for ten seconds, in which SQLite kept this process waiting: too many others were at it, or
 *   the file system has lost its locks
 * - `other`: anything else, such as a failing disk
 */
export type FaultKind =
  | "damaged"
  | "newer"
  | "unreleased"
  | "full"
  | "readonly"
  | "unopenable"
  | "unshared"
  | "unlockable"
  | "busy"
  | "contested"
  | "other";

/** The error that all database code throws. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** SQLite's primary result codes: https://sqlite.org/rescode.html */
const KINDS: Readonly<Record<number, FaultKind>> = {
  3: "unopenable", // SQLITE_PERM
  5: "busy", // SQLITE_BUSY
  6: "busy", // SQLITE_LOCKED
  8: "readonly", // SQLITE_READONLY
  11: "damaged", // SQLITE_CORRUPT
  13: "full", // SQLITE_FULL
  14: "unopenable", // SQLITE_CANTOPEN
  15: "contested", // SQLITE_PROTOCOL
  26: "damaged", // SQLITE_NOTADB
};

/** SQLite's extended result codes that say more than the primary ones. All but the first are of failures for good. */
const EXTENDED_KINDS: Readonly<Record<number, FaultKind>> = {
  4874: "full", // SQLITE_IOERR_SHMSIZE: the index of a write-ahead log could not be made large enough
  2058: "unlockable", // SQLITE_IOERR_UNLOCK
  2314: "unlockable", // SQLITE_IOERR_RDLOCK
  3594: "unlockable", // SQLITE_IOERR_CHECKRESERVEDLOCK
  3850: "unlockable", // SQLITE_IOERR_LOCK
  4618: "unshared", // SQLITE_IOERR_SHMOPEN
  5130: "unshared", // SQLITE_IOERR_SHMLOCK
  5386: "unshared", // SQLITE_IOERR_SHMMAP
};

/** The result code is `errcode` in Node, `errno` in Bun. Its higher bytes have more detail. */
const codeOf = (error: object): number | undefined => {
  const code = "errcode" in error ? error.errcode : "errno" in error ? error.errno : undefined;
  return typeof code === "number" ? code : undefined;
};

/** Converts whatever a runtime's SQLite threw. */
export const databaseError = (thrown: unknown): DatabaseError => {
  if (thrown instanceof DatabaseError) return thrown;
  if (!(thrown instanceof Error)) return new DatabaseError("other", String(thrown));
  const code = codeOf(thrown);
  const kind = code === undefined ? undefined : (EXTENDED_KINDS[code] ?? KINDS[code & 0xff]);
  return new DatabaseError(kind ?? "other", thrown.message, { cause: thrown });
};

/** The part that both runtimes' statements have in common. */
interface NativeStatement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
  /** Bun only: it does not close a database with open statements. Node finalizes them itself. */
  finalize?(): void;
}

/** The part that both runtimes' databases have in common. */
interface NativeDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): NativeStatement;
  close(): void;
}

/**
 * Milliseconds to wait for another process's lock, during which the host is blocked. This plugin holds the lock for about
 * one millisecond; if the wait is not enough, the change is kept in memory and written later.
 */
const LOCK_TIMEOUT_MS = 100;

/**
 * - synchronous NORMAL: nothing is lost when the process is killed. A power cut may lose the newest changes, but damages
 *   nothing.
 * - trusted_schema OFF: the file's schema may not call functions with side effects.
 */
const SETTINGS = `
  PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS};
  PRAGMA synchronous = NORMAL;
  PRAGMA foreign_keys = ON;
  PRAGMA trusted_schema = OFF;
`;

const attempt = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw databaseError(error);
  }
};

const statementOf = <Row>(native: () => NativeStatement): Statement<Row> => ({
  run: (...values) => attempt(() => Number(native().run(...values).changes)),
  // Without a row, Bun returns null.
  get: (...values) => attempt(() => (native().get(...values) as Row | null | undefined) ?? undefined),
  all: (...values) => attempt(() => native().all(...values) as Row[]),
});

const databaseOf = (native: NativeDatabase): Database => {
  const statements = new Map<string, Statement<unknown>>();
  const compiled: NativeStatement[] = [];
  let isOpen = true;

  /** SQLite compiles a statement when it is first run: an open store has about a hundred, and most processes run few. */
  const prepare = <Row>(sql: string): Statement<Row> => {
    const known = statements.get(sql);
    if (known) return known as Statement<Row>;
    let own: NativeStatement | undefined;
    const statement = statementOf<Row>(() => {
      if (own) return own;
      own = native.prepare(sql);
      compiled.push(own);
      return own;
    });
    statements.set(sql, statement);
    return statement;
  };

  const rollBack = () => {
    try {
      prepare("ROLLBACK").run();
    } catch {
      // After some errors, such as a full disk, SQLite has rolled back by itself.
    }
  };

  const within = <T>(begin: string, work: () => T): T => {
    prepare(begin).run();
    try {
      const result = work();
      prepare("COMMIT").run();
      return result;
    } catch (error) {
      rollBack();
      throw error;
    }
  };

  return {
    exec: (sql) => void attempt(() => native.exec(sql)),
    prepare,
    transaction: (work) => within("BEGIN IMMEDIATE", work),
    snapshot: (work) => within("BEGIN", work),
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      attempt(() => {
        for (const statement of compiled) statement.finalize?.();
        native.close();
      });
    },
  };
};

const openWith =
  (connect: (path: string) => NativeDatabase): OpenDatabase =>
  (path, how) => {
    const database = databaseOf(attempt(() => connect(path)));
    try {
      // Before anything is read.
      if (how === "alone") database.exec("PRAGMA locking_mode = EXCLUSIVE");
      database.exec(SETTINGS);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };

const require = createRequire(import.meta.url);

/**
 * Loads the runtime's SQLite: Bun's, or Node's (22.5 or newer). With `readonly`, files are neither created nor changed.
 * @throws Error when the runtime has none
 */
export const loadSqlite = ({ readonly = false } = {}): OpenDatabase => {
  // Each runtime knows only its own module, so neither can be imported by name.
  if (process.versions.bun) {
    const { Database: BunDatabase } = require("bun:sqlite") as {
      Database: new (path: string, options: Record<string, boolean>) => NativeDatabase;
    };
    return openWith((path) => new BunDatabase(path, readonly ? { readonly } : { create: true, readwrite: true }));
  }
  const { DatabaseSync } = require("node:sqlite") as typeof import("node:sqlite");
  return openWith((path) => new DatabaseSync(path, { readOnly: readonly }));
};
