import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  type Database,
  DatabaseError,
  databaseError,
  loadSqlite,
} from "../../../../src/services/store/sqlite/driver.ts";
import { temporaryFolder } from "../folder-and-log.ts";

const openDatabase = loadSqlite();

const opened = (path: string): Database => {
  const database = openDatabase(path);
  onTestFinished(database.close);
  return database;
};

const withTable = (): { database: Database; path: string } => {
  const path = join(temporaryFolder(), "some.db");
  const database = opened(path);
  database.exec("CREATE TABLE word (id TEXT PRIMARY KEY, length INTEGER) STRICT");
  return { database, path };
};

/** Returns the error that `work` throws. */
const faultOf = (work: () => unknown): DatabaseError => {
  try {
    work();
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
  throw new Error("it did not fail");
};

test("a statement says how many rows it changed, one row, none, or all", () => {
  const { database } = withTable();
  const insert = database.prepare("INSERT INTO word VALUES (?, ?) ON CONFLICT DO NOTHING");
  expect([insert.run("a", 1), insert.run("b", null), insert.run("b", 2)]).toEqual([1, 1, 0]);
  const one = database.prepare<{ length: number | null }>("SELECT length FROM word WHERE id = ?");
  expect([one.get("a")?.length, one.get("b")?.length, one.get("c")]).toEqual([1, null, undefined]);
  expect(database.prepare<{ id: string }>("SELECT id FROM word").all()).toHaveLength(2);
});

test("a time in milliseconds comes back as it went in", () => {
  const { database } = withTable();
  database.prepare("INSERT INTO word VALUES ('now', ?)").run(1_795_000_000_123);
  expect(database.prepare<{ length: number }>("SELECT length FROM word").get()?.length).toBe(1_795_000_000_123);
});

test("all reads of a snapshot see one state of the file, even if it changes in between", () => {
  const { database, path } = withTable();
  database.prepare("PRAGMA journal_mode = WAL").get();
  const count = () => database.prepare<{ n: number }>("SELECT count(*) AS n FROM word").get()?.n;
  const other = opened(path);
  const counted = database.snapshot(() => {
    const before = count();
    other.exec("INSERT INTO word VALUES ('a', 1)");
    return [before, count()];
  });
  expect([counted, count()]).toEqual([[0, 0], 1]);
  const failing = () =>
    database.snapshot(() => {
      throw new Error("no");
    });
  expect(failing).toThrow("no");
  expect(database.snapshot(count)).toBe(1);
});

test("a transaction that throws leaves nothing behind, and the next one works", () => {
  const { database } = withTable();
  const insert = database.prepare("INSERT INTO word VALUES (?, 1)");
  const failing = () =>
    database.transaction(() => {
      insert.run("a");
      throw new Error("no");
    });
  expect(failing).toThrow("no");
  expect(database.transaction(() => insert.run("b"))).toBe(1);
  expect(database.prepare("SELECT * FROM word").all()).toHaveLength(1);
});

test("the settings hold: nothing is lost to a kill, rows go with what they belong to, and waits are short", () => {
  const database = opened(join(temporaryFolder(), "some.db"));
  const setting = (name: string) => Object.values(database.prepare<object>(`PRAGMA ${name}`).get() ?? {})[0];
  expect(["synchronous", "foreign_keys", "trusted_schema", "busy_timeout"].map(setting)).toEqual([1, 1, 0, 100]);
});

test("what is no database is damaged", () => {
  const path = join(temporaryFolder(), "some.db");
  writeFileSync(path, "no database at all\n".repeat(1_000));
  expect(faultOf(() => opened(path).prepare("SELECT * FROM sqlite_master").all()).kind).toBe("damaged");
});

test("a folder in the file's place cannot be opened, nor can a file in a folder that is not there", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "some.db"));
  for (const path of [join(folder, "some.db"), join(folder, "none", "some.db")]) {
    expect(faultOf(() => opened(path).exec("CREATE TABLE t (a)")).kind).toBe("unopenable");
  }
});

test("a file without room for more is full, and goes on once there is", () => {
  const { database } = withTable();
  const insert = database.prepare("INSERT INTO word VALUES (?, 1)");
  database.exec("PRAGMA max_page_count = 3");
  expect(faultOf(() => database.transaction(() => insert.run("x".repeat(20_000)))).kind).toBe("full");
  database.exec("PRAGMA max_page_count = 1000");
  expect(database.transaction(() => insert.run("x".repeat(20_000)))).toBe(1);
});

test("a file that another connection writes to is busy", () => {
  const { database, path } = withTable();
  opened(path).exec("BEGIN IMMEDIATE");
  expect(faultOf(() => database.transaction(() => undefined)).kind).toBe("busy");
});

test("a connection that may only read says so", () => {
  const { database } = withTable();
  database.exec("PRAGMA query_only = ON");
  expect(faultOf(() => database.exec("DELETE FROM word")).kind).toBe("readonly");
});

test("a statement that makes no sense, and one on a closed file, are faults of another kind", () => {
  const { database } = withTable();
  expect(faultOf(() => database.prepare("SELCT").run()).kind).toBe("other");
  database.close();
  expect(faultOf(() => database.exec("SELECT 1")).kind).toBe("other");
  expect(database.close).not.toThrow();
});

test("whatever is thrown becomes the one error, and that stays itself", () => {
  const fault = new DatabaseError("full", "no room");
  expect(databaseError(fault)).toBe(fault);
  expect(databaseError("text")).toMatchObject({ kind: "other", message: "text" });
  expect(databaseError(new TypeError("wrong"))).toMatchObject({ kind: "other", message: "wrong" });
});
