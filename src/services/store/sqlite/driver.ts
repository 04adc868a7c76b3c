import { createRequire } from "node:module";
import { type Database, databaseError, type OpenDatabase, type Statement, type Value } from "./database.ts";

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
    const { Database: BunDatabase } = require("bun:sqlite") as typeof import("bun:sqlite");
    return openWith((path) => new BunDatabase(path, readonly ? { readonly } : { create: true, readwrite: true }));
  }
  const { DatabaseSync } = require("node:sqlite") as typeof import("node:sqlite");
  return openWith((path) => new DatabaseSync(path, { readOnly: readonly }));
};
