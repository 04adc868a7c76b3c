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
