import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { replay } from "../../../src/machines/task/replay.ts";
import { HEARTBEAT_MS, LEASE_MS, type Owner } from "../../../src/services/store/ownership.ts";
import { createResilientStore } from "../../../src/services/store/resilient/resilient-store.ts";
import { createConnector } from "../../../src/services/store/sqlite/connect.ts";
import { createStoreFile } from "../../../src/services/store/sqlite/database-file.ts";
import { type Database, loadSqlite, type OpenDatabase } from "../../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../../src/services/store/sqlite/journal-reader.ts";
import { SCHEMA_VERSION } from "../../../src/services/store/sqlite/schema.ts";
import type { Store } from "../../../src/services/store/store.ts";
import { createFakeProcess } from "../../fakes/fake-process.ts";
import { createStage, type Stage } from "../../fakes/stage.ts";
import { createVirtualClock, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog, temporaryFolder } from "./folder-and-log.ts";
import { ownerOf } from "./owners.ts";
import { scriptTask } from "./scripted-task.ts";

const openDatabase = loadSqlite();

/** The version that a file has after a release that is to come. */
const NEXT = SCHEMA_VERSION + 1;

/** What that release adds: a column that is needed, a table, and rows in it. */
const migrateToNext = (path: string) => {
  const database = openDatabase(path);
  database.transaction(() => {
    database.exec("ALTER TABLE task ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'");
    database.exec("CREATE TABLE mood (task TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT");
    database.exec("INSERT INTO mood SELECT id, 1 FROM task");
    database.exec(`PRAGMA user_version = ${NEXT}`);
  });
  database.close();
};

/** Opens files as that release does: it knows their version. */
const openAsNext: OpenDatabase = (path, how) => {
  const database = openDatabase(path, how);
  const prepare: Database["prepare"] = (sql) => {
    const statement = database.prepare<never>(sql);
    return sql === "PRAGMA user_version"
      ? { ...statement, get: () => ({ user_version: SCHEMA_VERSION }) as never }
      : statement;
  };
  return { ...database, prepare };
};

/** A file that processes of several versions share. */
const sharedFile = (clock: VirtualClock) => {
  const path = join(temporaryFolder(), "tasks.db");
  const alive = new Set<number>();
  let pids = 0;
  return {
    path,
    open: (id: string, { open = openDatabase, ...given }: Partial<Owner> & { open?: OpenDatabase } = {}) => {
      pids += 1;
      const pid = pids;
      alive.add(pid);
      const log = createRecordingLog();
      const owner = ownerOf(id, { pid, takesOverAfter: 300_000, ...given });
      const connector = createConnector({
        ...{ file: createStoreFile(path), openDatabase: open, owner, clock, log },
        running: (process) => alive.has(process.pid),
      });
      const store = createResilientStore({ connector, connection: connector.connect(), clock, log, path });
      onTestFinished(() => store.close());
      return { store, log, die: () => void alive.delete(pid) };
    },
    rows: <Row>(sql: string): Row[] => {
      const database = openDatabase(path);
      try {
        return database.prepare<Row>(sql).all();
      } finally {
        database.close();
      }
    },
    journal: (taskId: string) => {
      const database = openDatabase(path);
      try {
        return readJournal(database, taskId);
      } finally {
        database.close();
      }
    },
  };
};

type SharedFile = ReturnType<typeof sharedFile>;

/** Everything in the file but who is alive. */
const contentOf = (file: SharedFile) =>
  ["task", "journal", "prompt", "launch", "slot", "listed", "mood"].map((table) =>
    file.rows(`SELECT * FROM ${table} ORDER BY rowid`),
  );

test("beside a newer version, an older one goes on in memory, changes nothing in the file, and says what to do", async () => {
  const clock = createVirtualClock();
  const file = sharedFile(clock);
  const older = file.open("older");
  const [live, rested] = [scriptTask("ses_live"), scriptTask("ses_rested", { after: 1 })];
  older.store.commit(live.launch());
  older.store.commit(rested.whole());
  migrateToNext(file.path);
  const newer = file.open("newer", { open: openAsNext });
  const before = contentOf(file);

  older.store.commit(live.answer("done beside it"));
  older.store.commit(rested.resume());
  older.store.commit(scriptTask("ses_new", { after: 2 }).launch());
  for (let passed = 0; passed < 2 * LEASE_MS; passed += HEARTBEAT_MS) {
    await clock.advance(HEARTBEAT_MS);
    older.store.heartbeat(clock.now());
    newer.store.heartbeat(clock.now());
    expect(newer.store.adopt(clock.now(), () => true).tasks).toEqual([]);
  }
  expect(contentOf(file)).toEqual(before);
  expect(older.store.get("ses_live")?.task).toMatchObject({ status: "completed", result: "done beside it" });
  expect(older.store.get("ses_rested")?.task.resumeCount).toBe(1);
  expect(older.store.get("ses_new")?.task.status).toBe("running");
  expect(older.log.errors).toHaveLength(1);
  expect(older.log.errors[0]).toContain(`it has version ${NEXT}, and this plugin knows versions up to ${NEXT - 1}`);
  expect(older.log.errors[0]).toContain("Restart OpenCode, so that it uses the newest opencode-taskchart");
  expect(newer.log.errors).toEqual([]);
});

test("once the older one has ended, the newer one has its tasks as they were stored last, with whole journals", async () => {
  const clock = createVirtualClock();
  const file = sharedFile(clock);
  const older = file.open("older");
  const live = scriptTask("ses_live");
  older.store.commit(live.launch());
  const stored = live.record();
  migrateToNext(file.path);
  const newer = file.open("newer", { open: openAsNext });
  older.store.commit(live.answer("known to the older one alone"));
  older.die();
  const adopted = newer.store.adopt(clock.now(), () => true);
  expect(adopted.tasks).toEqual([stored]);
  const journal = file.journal("ses_live");
  if (!journal?.origin) throw new Error("its journal is not whole");
  expect(replay(journal.origin, journal.events).steps.filter(({ refused }) => refused !== undefined)).toEqual([]);
  newer.store.commit(live.deliver());
  expect(file.rows("SELECT mood FROM task")).toEqual([{ mood: "calm" }]);
});

/** Gives a stored task what a release to come would: a field in its context, and an event that is no part of this chart. */
const storeUnknown = (file: SharedFile, taskId: string) => {
  const database = openDatabase(file.path);
  database.transaction(() => {
    database
      .prepare(
        "UPDATE task SET snapshot = json_set(snapshot, '$.context.mood', json('{\"is\":\"calm\"}')) WHERE id = ?",
      )
      .run(taskId);
    database
      .prepare("INSERT INTO journal (task, event) SELECT seq, ?2 FROM task WHERE id = ?1")
      .run(taskId, JSON.stringify({ type: "MOOD_SEEN", at: 1, mood: "calm" }));
  });
  database.close();
};

/** An engine on the file. */
const openStage = (file: SharedFile, clock: VirtualClock, stores: Store[]): Stage => {
  const life = createFakeProcess();
  return createStage({
    clock,
    life,
    openStore: () => {
      const { store, die } = file.open(`process ${stores.length}`);
      stores.push(store);
      life.whenOver(die);
      return store;
    },
  });
};

test("a task of a newer version without a new schema goes on in an older one: what that does not know is kept, and its end is delivered once", async () => {
  const clock = createVirtualClock();
  const file = sharedFile(clock);
  const stores: Store[] = [];
  const stage = openStage(file, clock, stores);
  const id = await stage.launch();
  stage.life.die();
  storeUnknown(file, id);

  await stage.restart();
  await clock.advance(3_000);
  stage.host.finish(id, "done");
  await clock.advance(10_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "done" });
  expect(stage.notices()).toHaveLength(1);
  const [row] = file.rows<{ snapshot: string }>("SELECT snapshot FROM task");
  expect(JSON.parse(row?.snapshot ?? "").context.mood).toEqual({ is: "calm" });
  const types =
    stores
      .at(-1)
      ?.journal(id)
      .map(({ type }) => String(type)) ?? [];
  expect(types.filter((type) => type === "MOOD_SEEN")).toHaveLength(1);
  expect(types.indexOf("MOOD_SEEN")).toBeLessThan(types.indexOf("ADOPTED"));
  stage.engine.stop();
});
