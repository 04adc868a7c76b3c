/** @module-tag nightly */
import { join } from "node:path";
import { expect, test } from "vitest";
import { createReadDirectories } from "../../../src/services/host/directories.ts";
import { createEngineSource } from "../../../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../../../src/services/http/status-api.ts";
import { openStore } from "../../../src/services/store/open-store.ts";
import { loadSqlite, type OpenDatabase } from "../../../src/services/store/sqlite/driver.ts";
import { createStage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { temporaryFolder } from "../store/folder-and-log.ts";
import { ownerOf } from "../store/owners.ts";

/** What a database was asked for. */
interface Asked {
  statements: string[];
  rows: number;
}

const watched = (asked: Asked): OpenDatabase => {
  const openDatabase = loadSqlite();
  return (path) => {
    const database = openDatabase(path);
    return {
      ...database,
      prepare: <Row>(sql: string) => {
        const statement = database.prepare<Row>(sql);
        const noted = <T>(result: T, rows: number): T => {
          asked.statements.push(sql);
          asked.rows += rows;
          return result;
        };
        return {
          run: (...values) => noted(statement.run(...values), 0),
          get: (...values) => noted(statement.get(...values), 1),
          all: (...values) => {
            const rows = statement.all(...values);
            return noted(rows, rows.length);
          },
        };
      },
    };
  };
};

/** How SQLite does these statements, as far as it looks through a table that grows with the number of tasks. */
const scans = (path: string, statements: ReadonlySet<string>): string[] => {
  const database = loadSqlite()(path);
  const found = [...statements].flatMap((sql) => {
    if (!/^\s*(SELECT|WITH|UPDATE|DELETE|INSERT)/.test(sql)) return [];
    const plan = database.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all();
    return plan.flatMap(({ detail }) =>
      /^SCAN (slot|queue_count|task|listed)\b/.test(detail) ? `${detail}: ${sql}` : [],
    );
  });
  database.close();
  return found;
};

/** The agent whose tasks wait, and one whose tasks do not. */
const [LIMITED, FREE] = ["general", "explore"];

/** What each operation asks the database for beside so many tasks that wait. */
const operationsBeside = async (waiting: number) => {
  const asked: Asked = { statements: [], rows: 0 };
  const folder = temporaryFolder();
  const stage = createStage({
    concurrency: { agents: { [LIMITED]: 2 } },
    budget: { tasksPerParent: 10_000 },
    openStore: (clock) =>
      openStore({
        ...{ folder, clock, owner: ownerOf("a"), load: () => watched(asked) },
        log: { info: () => undefined, error: (message) => expect.fail(message) },
      }),
  });
  let parents = 0;
  const launch = (agent = LIMITED) => {
    parents += 1;
    const sessionID = `ses_parent_${parents}`;
    stage.host.addSession(sessionID);
    return stage.launch({ agent }, { sessionID });
  };
  const atWork = [await launch(), await launch()];
  const queue: string[] = [];
  for (let index = 0; index < waiting; index += 1) queue.push(await launch());
  const directories = createOpenDirectories();
  directories.add({ engine: stage.engine, store: stage.store, host: stage.host });
  const source = createEngineSource(
    directories,
    stage.clock,
    () => "request",
    "/nowhere/worktrees",
    createReadDirectories(stage.clock),
  );
  const newest = () => queue.at(-1) ?? "";
  const counted = async (work: () => unknown) => {
    asked.statements = [];
    asked.rows = 0;
    await work();
    await settled();
    return { statements: asked.statements.length, rows: asked.rows };
  };
  const all = new Set<string>();
  const operations: Record<string, () => unknown> = {
    "a launch that is queued": async () => queue.push(await launch()),
    "a launch that starts at once": () => launch(FREE),
    "an end, and the next start": async () => {
      await stage.finish(atWork.shift() ?? "", "Done.");
      const next = queue.shift() ?? "";
      expect(stage.task(next).state).toBe("running.active.working.busy");
      atWork.push(next);
    },
    "a cancel of one that waits": () => stage.engine.cancel([queue.pop() ?? ""]),
    "a task that waits is read": () =>
      stage.engine.get(newest())?.queue?.place === queue.length || expect.fail("place"),
    "its conversation is listed": () => stage.engine.list({ parentSessionID: stage.task(newest()).parentSessionID }),
    "the status API shows it": () => source.task(newest()),
    "a second passes": () => stage.clock.advance(1_000),
  };
  const counts: Record<string, unknown> = {};
  for (const [name, work] of Object.entries(operations)) {
    await counted(work);
    await stage.clock.advance(3_000);
    counts[name] = await counted(work);
    for (const sql of asked.statements) all.add(sql);
  }
  stage.engine.stop();
  return { counts, scans: scans(join(folder, "tasks.db"), all) };
};

test("no operation asks the database for more beside 400 tasks that wait than beside ten, nor has it look through a table", async () => {
  const [few, many] = [await operationsBeside(10), await operationsBeside(400)];
  expect(many.counts).toEqual(few.counts);
  expect(many.scans).toEqual([]);
});
