/** The value of a column. */
export type Value = string | number | null;

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

/** Opens a database file, creating it if necessary. Throws `DatabaseError`. */
export type OpenDatabase = (path: string) => Database;

/**
 * The kinds of faults that are handled differently:
 * - `damaged`: the file is not a database, or a corrupt one
 * - `newer`: the file was written by a newer version of this plugin
 * - `full`: the disk or the quota is full
 * - `readonly`: the file cannot be written
 * - `unopenable`: the file or its folder cannot be opened or created
 * - `busy`: another process has locked the file
 * - `other`: anything else, such as a failing disk
 */
export type FaultKind = "damaged" | "newer" | "full" | "readonly" | "unopenable" | "busy" | "other";

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
  15: "busy", // SQLITE_PROTOCOL: too many processes at the lock at once
  26: "damaged", // SQLITE_NOTADB
};

/** The result code is `errcode` in Node, `errno` in Bun. Its higher bytes have more detail. */
const codeOf = (error: object): number | undefined => {
  const code = "errcode" in error ? error.errcode : "errno" in error ? error.errno : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
};

/** Converts whatever a runtime's SQLite threw. */
export const databaseError = (thrown: unknown): DatabaseError => {
  if (thrown instanceof DatabaseError) return thrown;
  if (!(thrown instanceof Error)) return new DatabaseError("other", String(thrown));
  const code = codeOf(thrown);
  return new DatabaseError((code !== undefined && KINDS[code]) || "other", thrown.message, { cause: thrown });
};
