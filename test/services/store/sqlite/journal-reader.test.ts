import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { type JournalReader, openJournalReader } from "../../../../src/services/store/sqlite/journal-reader.ts";
import { SCHEMA_VERSION } from "../../../../src/services/store/sqlite/schema.ts";
import { temporaryFolder } from "../folder-and-log.ts";
import { scriptTask } from "../scripted-task.ts";
import { createSharedDatabase } from "../shared-database.ts";

const writable = loadSqlite();
const readonly = loadSqlite({ readonly: true });

const opened = (path: string): JournalReader => {
  const journals = openJournalReader(path, readonly);
  onTestFinished(journals.close);
  return journals;
};

const stored = () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("writer");
  const story = scriptTask("ses_one", { description: "the first" });
  store.commit(story.whole());
  return { file, store, story };
};

test("a journal is read beside the process that writes it, with all that it has stored so far", () => {
  const { file, store, story } = stored();
  const journals = opened(file.path);
  expect(journals.journal("ses_one")?.events).toEqual(story.events());
  store.commit(story.resume());
  const { origin, events, snapshot } = journals.journal("ses_one") ?? {};
  expect(events).toEqual(story.events());
  expect(snapshot?.value).toEqual(story.record().snapshot.value);
  expect(origin?.run.index).toBe(0);
  store.commit(scriptTask("ses_two").launch());
  expect(journals.newest(5).map(({ id }) => id)).toEqual(["ses_two", "ses_one"]);
});

test("a journal is read when every process has closed the file, and the database is left as it was", () => {
  const { file, store, story } = stored();
  store.close();
  const before = readFileSync(file.path);
  const journals = openJournalReader(file.path, readonly);
  expect(journals.journal("ses_one")?.events).toEqual(story.events());
  journals.close();
  expect(readFileSync(file.path).equals(before)).toBe(true);
  const next = file.openAs("next").store;
  expect(next.commit(story.resume())).toEqual([]);
});

test("a writer that comes and goes meanwhile is not disturbed, and is seen", () => {
  const { file, store, story } = stored();
  store.close();
  const journals = opened(file.path);
  const { store: next } = file.openAs("next");
  expect(next.commit(story.resume())).toEqual([]);
  next.close();
  expect(journals.journal("ses_one")?.events).toEqual(story.events());
});

test("nothing can be written through it", () => {
  const { file } = stored();
  const database = readonly(file.path);
  onTestFinished(database.close);
  expect(() => database.exec("DELETE FROM task")).toThrow(/readonly/);
});

test("a task is found by its id, or by the beginning of ids, newest first", () => {
  const { file, store } = stored();
  store.commit(scriptTask("ses_one_more").launch());
  const journals = opened(file.path);
  expect(journals.find("ses_one")).toEqual([
    { id: "ses_one", status: "completed", startedAt: expect.any(Number), description: "the first" },
  ]);
  expect(journals.find("ses_o").map(({ id }) => id)).toEqual(["ses_one_more", "ses_one"]);
  expect(journals.find("ses_%")).toEqual([]);
  expect(journals.journal("ses_o")).toBeUndefined();
});

test("no file, and no folder, comes into being", () => {
  const folder = join(temporaryFolder(), "none");
  expect(() => openJournalReader(join(folder, "tasks.db"), readonly)).toThrow("there is no such file");
  expect(existsSync(folder)).toBe(false);
});

test.each([
  [0, "it has no tables yet: OpenCode makes them when it starts"],
  [99, `it has version 99, and this plugin knows versions up to ${SCHEMA_VERSION}`],
])("a file of version %i is refused in words, and left alone", (version, words) => {
  const { file, store } = stored();
  store.close();
  const database = writable(file.path);
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
  expect(() => openJournalReader(file.path, readonly)).toThrow(words);
  expect(file.rows("PRAGMA user_version")).toEqual([{ user_version: version }]);
});

test("what is no database is refused, and neither set aside nor changed", () => {
  const folder = temporaryFolder();
  const path = join(folder, "tasks.db");
  writeFileSync(path, "no database ".repeat(1_000));
  expect(() => openJournalReader(path, readonly)).toThrow(expect.objectContaining({ kind: "damaged" }));
  expect(readdirSync(folder)).toEqual(["tasks.db"]);
});
