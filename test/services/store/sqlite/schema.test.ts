import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { openJournalReader, readFileReport } from "../../../../src/services/store/sqlite/journal-reader.ts";
import { ensureSchema, FORM, SCHEMA_VERSION, versionOf } from "../../../../src/services/store/sqlite/schema.ts";
import { temporaryFolder } from "../folder-and-log.ts";
import { openResilient } from "../resilient/open-resilient.ts";
import { scriptTask } from "../scripted-task.ts";

const openDatabase = loadSqlite();

const opened = (path: string) => {
  const database = openDatabase(path);
  onTestFinished(database.close);
  return database;
};

test("a process that comes in between another's looking and doing creates the tables, and they are not created again", () => {
  const path = join(temporaryFolder(), "some.db");
  const [slow, quick] = [opened(path), opened(path)];
  let overtaken = false;
  ensureSchema({
    ...slow,
    transaction: (work) => {
      overtaken = true;
      ensureSchema(quick);
      return slow.transaction(work);
    },
  });
  expect(overtaken).toBe(true);
  expect(versionOf(slow)).toBe(SCHEMA_VERSION);
});

test("a newer file is refused in words, before anything is written", () => {
  const path = join(temporaryFolder(), "some.db");
  opened(path).exec(`PRAGMA application_id = ${FORM}; PRAGMA user_version = 7`);
  expect(() => ensureSchema(opened(path))).toThrow("it has version 7, and this plugin knows versions up to 1");
  const mode = opened(path).prepare<{ journal_mode: string }>("PRAGMA journal_mode").get();
  expect(mode?.journal_mode).toBe("delete");
});

/** What files of builds from before the first release say of themselves. */
const UNRELEASED = [
  { what: "of a higher number than any release has yet", version: 18, form: 0 },
  { what: "of the same number", version: SCHEMA_VERSION, form: 0 },
  { what: "of the same number, and with tables of another form", version: SCHEMA_VERSION, form: FORM ^ 1 },
];

test.each(UNRELEASED)(
  "a file of a development build $what is set aside as it is, in one sentence",
  async ({ version, form }) => {
    const folder = temporaryFolder();
    const path = join(folder, "tasks.db");
    const old = openDatabase(path);
    old.exec(`CREATE TABLE task (id TEXT) STRICT; INSERT INTO task VALUES ('ses_old');
    PRAGMA application_id = ${form}; PRAGMA user_version = ${version}`);
    old.close();
    chmodSync(path, 0o600);
    const before = readFileSync(path);
    expect(readFileReport(path, openDatabase)).toMatchObject({ schema: { isUnreleased: true }, tasks: undefined });
    expect(() => openJournalReader(path, openDatabase)).toThrow("a build from before the first release wrote it");

    const { store, log } = await openResilient({ folder });
    store.commit(scriptTask("ses_1").launch());
    store.close();
    const aside = readdirSync(folder).filter((name) => name !== "tasks.db");
    expect(aside).toEqual([expect.stringMatching(/^tasks\.db\.unreleased-/)]);
    expect(readFileSync(join(folder, aside[0] ?? "")).equals(before)).toBe(true);
    expect(log.errors).toEqual([]);
    expect(log.infos).toEqual([expect.stringContaining("It was set aside as it is, and a new one started.")]);

    const again = await openResilient({ folder });
    expect(again.store.get("ses_1")?.task.status).toBe("running");
    expect(again.log.infos).toEqual([]);
  },
);

test("the questions that are asked most are answered from an index", () => {
  const database = opened(join(temporaryFolder(), "some.db"));
  ensureSchema(database);
  const planOf = (sql: string) =>
    database
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join("; ");
  const list = planOf("SELECT snapshot FROM task WHERE parent = 'p' ORDER BY started_at, seq");
  expect(list).toContain("task_of_parent");
  expect(list).not.toContain("TEMP B-TREE");
  expect(planOf("SELECT born FROM task JOIN listed USING (id) WHERE parent = 'p'")).toContain("task_of_parent");
  const below = planOf("SELECT snapshot FROM task WHERE lead = 't' ORDER BY started_at, seq");
  expect(below).toContain("task_of_lead");
  expect(below).not.toContain("TEMP B-TREE");
  expect(planOf("SELECT id FROM task WHERE owner = 'me'")).toContain("task_of_owner");
  expect(planOf("SELECT id FROM task WHERE owner IS NOT NULL AND directory = 'd'")).toContain("task_of_owner");
  expect(planOf("SELECT seq FROM task WHERE owner IS NULL AND ended_at < 1")).toContain("task_at_rest");
  expect(planOf("SELECT event FROM journal WHERE task = 't' ORDER BY seq")).toContain("journal_of_task");
  expect(planOf("SELECT seq FROM text WHERE task = 1")).toContain("text_of_task");
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
  for (const [rest, index] of [
    ["ORDER BY started_at DESC, born DESC LIMIT 9 OFFSET 99", "listed_newest"],
    ["WHERE tally IN (1, 2) ORDER BY started_at DESC, born DESC LIMIT 9 OFFSET 99", "listed_newest"],
    ["WHERE instr(text, 'x') > 0 ORDER BY started_at DESC, born DESC LIMIT 9", "listed_newest"],
  ] as const) {
    const plan = planOf(`SELECT born FROM listed INDEXED BY ${index} ${rest}`);
    expect(plan).toContain(`COVERING INDEX ${index}`);
    expect(plan).not.toContain("TEMP B-TREE");
  }
  expect(planOf("SELECT born FROM listed INDEXED BY listed_of_tally WHERE tally IN (1, 2)")).toContain(
    "listed_of_tally",
  );
  for (const order of ["ASC", "DESC"]) {
    const plan = planOf(`SELECT duration FROM listed WHERE duration IS NOT NULL ORDER BY duration ${order} LIMIT 1`);
    expect(plan).toContain("listed_duration");
    expect(plan).not.toContain("TEMP B-TREE");
  }
});
