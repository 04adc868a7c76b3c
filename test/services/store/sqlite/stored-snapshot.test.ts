import { expect, onTestFinished, test } from "vitest";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../../../src/services/store/sqlite/journal-reader.ts";
import { ensureSchema } from "../../../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../../../src/services/store/sqlite/sqlite-store.ts";
import type { Change } from "../../../../src/services/store/store.ts";
import { ownerOf } from "../owners.ts";
import { START, scriptTask } from "../scripted-task.ts";

const openDatabase = loadSqlite();

const idOf = (kind: string) => `${kind}_${"0".repeat(26)}`;

const LONG = "This is what I found. ".repeat(20);

const setUp = () => {
  const database = openDatabase(":memory:");
  onTestFinished(database.close);
  ensureSchema(database);
  const store = createSqliteStore({ database, owner: ownerOf("me"), now: () => START });
  const story = scriptTask(idOf("ses"), { parentSessionID: idOf("ses"), batchId: idOf("batch"), prompt: LONG });
  const inFile = (path: string) =>
    database.prepare<{ found: unknown }>("SELECT json_extract(snapshot, ?) AS found FROM task").get(path)?.found;
  const snapshotsRead = () => [store.get(story.id)?.snapshot, readJournal(database, story.id)?.snapshot];
  return { database, store, story, inFile, snapshotsRead };
};

const END = "$.context.lastRunResult";

test("what a notice says of a run is stored as its outcome where it follows from the rest, and read back byte for byte", () => {
  const { store, story, inFile, snapshotsRead } = setUp();
  const chapters: (() => Change)[] = [story.launch, () => story.answer(LONG), story.deliver];
  for (const chapter of chapters) {
    store.commit(chapter());
    const { snapshot } = story.record();
    expect(inFile(END)).toBe(snapshot.context.lastRunResult === undefined ? null : "completed");
    for (const read of snapshotsRead()) expect(JSON.stringify(read)).toBe(JSON.stringify(snapshot));
  }
});

test("a result that an earlier version stored whole is read as it is", () => {
  const { database, store, story, inFile, snapshotsRead } = setUp();
  store.commit(story.whole());
  const { snapshot } = story.record();
  const whole = JSON.stringify(snapshot.context.lastRunResult);
  database.prepare("UPDATE task SET snapshot = json_set(snapshot, ?, json(?))").run(END, whole);
  expect(JSON.parse(String(inFile(END)))).toEqual(snapshot.context.lastRunResult);
  for (const read of snapshotsRead()) expect(JSON.stringify(read)).toBe(JSON.stringify(snapshot));
});

test("the result of the run before stays whole while the next one is under way", () => {
  const { store, story, inFile, snapshotsRead } = setUp();
  store.commit(story.whole());
  store.claim(story.id);
  store.commit(story.resume());
  const { snapshot } = story.record();
  expect(snapshot.context.lastRunResult?.run).toBe(0);
  expect(JSON.parse(String(inFile(END)))).toMatchObject({ run: 0 });
  for (const read of snapshotsRead()) expect(JSON.stringify(read)).toBe(JSON.stringify(snapshot));
});

test("three tasks that have ended share a page of the file: their texts stand elsewhere", () => {
  const { database, store, story } = setUp();
  store.commit(story.whole());
  const columns = database.prepare<{ name: string }>("SELECT name FROM pragma_table_info('task')").all();
  const bytes = columns.map(({ name }) => `ifnull(length(CAST("${name}" AS BLOB)), 0)`).join(" + ");
  const row = database.prepare<{ bytes: number }>(`SELECT ${bytes} AS bytes FROM task`).get();
  expect(row?.bytes).toBeLessThan(1_340);
});
