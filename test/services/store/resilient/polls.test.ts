import { expect, test } from "vitest";
import { loadSqlite, type OpenDatabase } from "../../../../src/services/store/sqlite/driver.ts";
import { scriptTask } from "../scripted-task.ts";
import { openResilient } from "./open-resilient.ts";

const openDatabase = loadSqlite();

/** Opens databases, and notes what runs on them. */
const watched = (ran: string[]): OpenDatabase => {
  const noting =
    <Given extends unknown[], Result>(sql: string, work: (...given: Given) => Result) =>
    (...given: Given): Result => {
      ran.push(sql);
      return work(...given);
    };
  return (path) => {
    const database = openDatabase(path);
    return {
      ...database,
      prepare: <Row>(sql: string) => {
        const { run, get, all } = database.prepare<Row>(sql);
        return { run: noting(sql, run), get: noting(sql, get), all: noting(sql, all) };
      },
      transaction: noting("BEGIN", database.transaction) as typeof database.transaction,
    };
  };
};

test("to look for commands, which happens every second, is one query while there are none and all is saved", async () => {
  const ran: string[] = [];
  const { store } = await openResilient({ load: () => watched(ran) });
  store.commit(scriptTask("ses_1").launch());
  expect(ran).toContain("BEGIN");
  ran.length = 0;
  expect(store.takeCommands()).toEqual([]);
  expect(ran).toEqual([expect.stringMatching(/^SELECT request\.id/)]);
});
