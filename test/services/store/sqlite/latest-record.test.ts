import { expect, test } from "vitest";
import { type Database, loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../../../src/services/store/sqlite/sqlite-store.ts";
import { noProgress } from "../../../../src/task.ts";
import { ownerOf } from "../owners.ts";
import { START, scriptTask } from "../scripted-task.ts";
import { createSharedDatabase } from "../shared-database.ts";

const openDatabase = loadSqlite();

/** A store in memory with one ended task, and how often a record was read from its tables. */
const setUp = () => {
  const database = openDatabase(":memory:");
  let reads = 0;
  const counting: Database = {
    ...database,
    prepare: <Row>(sql: string) => {
      const statement = database.prepare<Row>(sql);
      const get: typeof statement.get = (...values) => {
        if (sql.includes("snapshot")) reads += 1;
        return statement.get(...values);
      };
      return { ...statement, get };
    },
  };
  ensureSchema(database);
  const store = createSqliteStore({ database: counting, owner: ownerOf("me"), now: () => START });
  const story = scriptTask("ses_1");
  store.commit(story.whole());
  return { store, story, reads: () => reads };
};

test("a record that nobody changes is read once, however often it is asked for in a row", () => {
  const { store, story, reads } = setUp();
  for (let round = 0; round < 3; round += 1) expect(store.get("ses_1")).toEqual(story.record());
  expect(reads()).toBe(1);
});

test("a record is read anew after each change by this process", () => {
  const { store, story } = setUp();
  store.get("ses_1");
  const progress = { ...noProgress(new Date(START).toISOString()), toolCalls: 3 };
  store.storeProgress(new Map([["ses_1", progress]]));
  expect(store.get("ses_1")?.task.progress).toEqual(progress);
  store.claim("ses_1");
  store.get("ses_1");
  store.commit(story.resume());
  expect(store.get("ses_1")).toEqual(story.record());
  store.remove(["ses_1"]);
  expect(store.get("ses_1")).toBeUndefined();
});

test("a record is read anew after a change by another process", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const story = scriptTask("ses_1");
  for (const chapter of [story.launch, story.answer, story.deliver]) {
    a.commit(chapter());
    expect(b.get("ses_1")).toEqual(story.record());
  }
  a.remove(["ses_1"]);
  expect(b.get("ses_1")).toBeUndefined();
});
