import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Migration, migrate, migrations, versionOf } from "../../src/services/store/schema.ts";
import { loadSqlite } from "../../src/services/store/sqlite.ts";
import { temporaryFolder } from "./places.ts";

const openDatabase = await loadSqlite();

const opened = (path: string) => {
  const database = openDatabase(path);
  onTestFinished(database.close);
  return database;
};

const create: Migration = (database) => database.exec("CREATE TABLE word (id TEXT)");
const fill: Migration = (database) => database.exec("INSERT INTO word VALUES ('first')");
const more: Migration = (database) => database.exec("INSERT INTO word SELECT id || ', more' FROM word");

const words = (path: string) =>
  opened(path)
    .prepare<{ id: string }>("SELECT id FROM word ORDER BY rowid")
    .all()
    .map(({ id }) => id);

test("a new file gets every step, in order and once", () => {
  const path = join(temporaryFolder(), "some.db");
  for (let round = 0; round < 2; round += 1) migrate(opened(path), [create, fill, more]);
  expect(words(path)).toEqual(["first", "first, more"]);
});

test("an older file gets the steps that it lacks, and keeps what it has", () => {
  const path = join(temporaryFolder(), "some.db");
  migrate(opened(path), [create, fill]);
  migrate(opened(path), [create, fill, more]);
  expect(words(path)).toEqual(["first", "first, more"]);
  expect(versionOf(opened(path))).toBe(3);
});

test("a process that comes in between another's looking and doing does the steps, and they are not done again", () => {
  const path = join(temporaryFolder(), "some.db");
  const [slow, quick] = [opened(path), opened(path)];
  const steps = [create, fill, more];
  let overtaken = false;
  migrate(
    {
      ...slow,
      transaction: (work) => {
        if (!overtaken) {
          overtaken = true;
          migrate(quick, steps);
        }
        return slow.transaction(work);
      },
    },
    steps,
  );
  expect(overtaken).toBe(true);
  expect(words(path)).toEqual(["first", "first, more"]);
});

test("a step that fails leaves the file as it was before it", () => {
  const path = join(temporaryFolder(), "some.db");
  const broken: Migration = (database) => {
    database.exec("DELETE FROM word");
    database.exec("nonsense");
  };
  expect(() => migrate(opened(path), [create, fill, broken])).toThrow();
  expect(words(path)).toEqual(["first"]);
  expect(versionOf(opened(path))).toBe(2);
});

test("a newer file is refused in words, before anything is written", () => {
  const path = join(temporaryFolder(), "some.db");
  opened(path).exec("PRAGMA user_version = 7");
  expect(() => migrate(opened(path), [create])).toThrow("it has version 7, and this plugin knows versions up to 1");
  const mode = opened(path).prepare<{ journal_mode: string }>("PRAGMA journal_mode").get();
  expect(mode?.journal_mode).toBe("delete");
});

test("tasks of a file that did not say so are listed below the task that they belong to", () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 2));
  const add = old.prepare(
    `INSERT INTO task (id, parent, batch, agent, status, started_at, directory, progress, snapshot)
     VALUES (?, 'p', 'b', 'general', 'completed', 1, 'd', '{}', ?)`,
  );
  add.run("ses_inner", JSON.stringify({ context: { facts: { parentTaskId: "ses_outer" } } }));
  add.run("ses_outer", JSON.stringify({ context: { facts: {} } }));
  add.run("ses_damaged", "{");
  migrate(opened(path), migrations);
  expect(opened(path).prepare("SELECT id, lead FROM task ORDER BY seq").all()).toEqual([
    { id: "ses_inner", lead: "ses_outer" },
    { id: "ses_outer", lead: null },
    { id: "ses_damaged", lead: null },
  ]);
});

test("the questions that are asked most are answered from an index", () => {
  const database = opened(join(temporaryFolder(), "some.db"));
  migrate(database, migrations);
  const planOf = (sql: string) =>
    database
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join("; ");
  const list = planOf("SELECT snapshot FROM task WHERE parent = 'p' ORDER BY started_at, seq");
  expect(list).toContain("task_of_parent");
  expect(list).not.toContain("TEMP B-TREE");
  const below = planOf("SELECT snapshot FROM task WHERE lead = 't' ORDER BY started_at, seq");
  expect(below).toContain("task_of_lead");
  expect(below).not.toContain("TEMP B-TREE");
  expect(planOf("SELECT id FROM task WHERE owner = 'me'")).toContain("task_of_owner");
  expect(planOf("SELECT id FROM task WHERE owner IS NOT NULL AND directory = 'd'")).toContain("task_of_owner");
  expect(planOf("SELECT seq FROM task WHERE owner IS NULL AND ended_at < 1")).toContain("task_at_rest");
  expect(planOf("SELECT event FROM journal WHERE task = 't' ORDER BY seq")).toContain("journal_of_task");
  const records = "SELECT snapshot FROM listed JOIN task USING (id)";
  for (const [rest, index] of [
    ["WHERE change > 1 ORDER BY change LIMIT 9", "sqlite_autoindex_listed_1"],
    ["WHERE listed.batch = 'b' ORDER BY listed.started_at, born", "listed_of_batch"],
    ["WHERE listed.ended_at IS NULL ORDER BY listed.started_at, born", "listed_live"],
    ["WHERE listed.ended_at IS NOT NULL ORDER BY listed.ended_at DESC, born DESC LIMIT 9", "listed_ended"],
  ] as const) {
    const plan = planOf(`${records} ${rest}`);
    expect(plan).toContain(index);
    expect(plan).not.toContain("TEMP B-TREE");
  }
  expect(planOf("SELECT max(duration) FROM listed WHERE duration IS NOT NULL")).toContain("listed_duration");
});
