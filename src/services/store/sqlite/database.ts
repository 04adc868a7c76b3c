/** What a column holds. */
export type Value = string | number | null;

/** A prepared statement. Each method runs it, and throws `DatabaseError`. */
export interface Statement<Row> {
  /** Returns how many rows it inserted, updated or deleted itself, cascades not counted. */
  run(...values: Value[]): number;
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
}

/** An SQL database in a file, the same under Bun and Node. Every method throws `DatabaseError`. */
export interface Database {
  /** Runs statements that return nothing. */
  exec(sql: string): void;
  /** Prepares a statement, once for each text. `Row` is what the caller knows of its columns. */
  prepare<Row = never>(sql: string): Statement<Row>;
  /**
   * Runs `work` with the file's write lock: all of it is stored, or nothing when it throws. Not to be nested.
   * Nobody else can write meanwhile.
   */
  transaction<T>(work: () => T): T;
  /** Closes the file. A second time does nothing. */
  close(): void;
}

/** Opens a database file, and creates it when it is not there. Throws `DatabaseError`. */
export type OpenDatabase = (path: string) => Database;

/**
 * What went wrong, as far as it matters to what is done about it:
 * - `damaged`: the file is no database, or a broken one
 * - `newer`: a newer version of this plugin has written it
 * - `full`: no room on the disk, or none allowed
 * - `readonly`: the file may not be written
 * - `unopenable`: the file, or its folder, may not be opened or created
 * - `busy`: another process holds it
 * - `other`: anything else, a failing disk among it
 */
export type FaultKind = "damaged" | "newer" | "full" | "readonly" | "unopenable" | "busy" | "other";

/** The one error of a database. */
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

/** Node gives the result code as `errcode`, Bun as `errno`; both with more detail in the higher bytes. */
const codeOf = (error: object): number | undefined => {
  const code = "errcode" in error ? error.errcode : "errno" in error ? error.errno : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
};

/** What a runtime's SQLite threw, as the one error. */
export const databaseError = (thrown: unknown): DatabaseError => {
  if (thrown instanceof DatabaseError) return thrown;
  if (!(thrown instanceof Error)) return new DatabaseError("other", String(thrown));
  const code = codeOf(thrown);
  return new DatabaseError((code !== undefined && KINDS[code]) || "other", thrown.message, { cause: thrown });
};
