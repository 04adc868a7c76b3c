import { type Database, databaseError, type OpenDatabase, type Statement, type Value } from "./database.ts";

/** As much as both runtimes' statements have in common. */
interface NativeStatement {
  run(...values: Value[]): { changes: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
  /** Bun's only: a connection with open statements is not closed there. Node sees to it itself. */
  finalize?(): void;
}

/** As much as both runtimes' databases have in common. */
interface NativeDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): NativeStatement;
  close(): void;
}

/**
 * Milliseconds to wait for another process's lock, in which the host stands still. Ours hold it for about one; where
 * that long does not do, the change is kept in memory and written later.
 */
const LOCK_TIMEOUT_MS = 100;

/**
 * - NORMAL: nothing is lost when the process is killed. A power cut can take the newest changes, and damages nothing.
 * - trusted_schema off: what stands in the file's schema may not call functions with side effects.
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

const statementOf = <Row>(native: NativeStatement): Statement<Row> => ({
  run: (...values) => attempt(() => Number(native.run(...values).changes)),
  // Without a row, Bun says null.
  get: (...values) => attempt(() => (native.get(...values) as Row | null | undefined) ?? undefined),
  all: (...values) => attempt(() => native.all(...values) as Row[]),
});

const databaseOf = (native: NativeDatabase): Database => {
  const statements = new Map<string, { native: NativeStatement; statement: Statement<unknown> }>();
  let isOpen = true;

  const prepare = <Row>(sql: string): Statement<Row> => {
    const known = statements.get(sql);
    if (known) return known.statement as Statement<Row>;
    const prepared = attempt(() => native.prepare(sql));
    const statement = statementOf<Row>(prepared);
    statements.set(sql, { native: prepared, statement });
    return statement;
  };

  const rollBack = () => {
    try {
      prepare("ROLLBACK").run();
    } catch {
      // After some errors, such as a full disk, SQLite has rolled back already.
    }
  };

  return {
    exec: (sql) => void attempt(() => native.exec(sql)),
    prepare,
    transaction: (work) => {
      prepare("BEGIN IMMEDIATE").run();
      try {
        const result = work();
        prepare("COMMIT").run();
        return result;
      } catch (error) {
        rollBack();
        throw error;
      }
    },
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      attempt(() => {
        for (const { native: prepared } of statements.values()) prepared.finalize?.();
        native.close();
      });
    },
  };
};

const opener =
  (connect: (path: string) => NativeDatabase): OpenDatabase =>
  (path) => {
    const database = databaseOf(attempt(() => connect(path)));
    try {
      database.exec(SETTINGS);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  };

/**
 * Loads the SQLite of the runtime: Bun's, or Node's (22.5 or newer). Rejects where there is none. With `readonly`, a file
 * is neither created nor changed.
 */
export const loadSqlite = async ({ readonly = false } = {}): Promise<OpenDatabase> => {
  if (process.versions.bun) {
    const { Database: BunDatabase } = await import("bun:sqlite");
    return opener((path) => new BunDatabase(path, readonly ? { readonly } : { create: true, readwrite: true }));
  }
  const { DatabaseSync } = await import("node:sqlite");
  return opener((path) => new DatabaseSync(path, { readOnly: readonly }));
};
