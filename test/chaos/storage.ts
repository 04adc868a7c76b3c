import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TaskInput } from "../../src/machines/task/events.ts";
import type { Log } from "../../src/services/platform/log.ts";
import type { Owner } from "../../src/services/store/ownership.ts";
import { createResilientStore } from "../../src/services/store/resilient/resilient-store.ts";
import { createConnector } from "../../src/services/store/sqlite/connect.ts";
import type { Database } from "../../src/services/store/sqlite/database.ts";
import { createStoreFile } from "../../src/services/store/sqlite/database-file.ts";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../src/services/store/sqlite/journal-reader.ts";
import { migrate } from "../../src/services/store/sqlite/migrations.ts";
import { createSqliteStore } from "../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/services/store/store.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import { FOLDER } from "../services/store/folder.ts";

const openDatabase = loadSqlite();

/** The store of successive processes. */
export interface Storage {
  /** Opens the store for the next process. Earlier ones count as dead. */
  boot(clock: VirtualClock): Store;
  /** Returns the input of the task's machine. */
  origin(taskId: string): TaskInput | undefined;
  /** Returns the number of launches that are stored as pending. */
  launches(): number;
  /** Returns the tasks that have a row of a slot. */
  slots(): string[];
  remove(): void;
}

/** Describes a process with this process's pid and another start time: earlier ones then count as gone. */
const ownerOf = (life: number): Owner => ({
  id: `life ${life}`,
  pid: process.pid,
  machine: "here",
  startedAt: life,
  directory: "/project",
  database: "opencode.db",
});

const originIn = (database: Database, taskId: string): TaskInput | undefined =>
  readJournal(database, taskId)?.origin ?? undefined;

const launchesIn = (database: Database): number =>
  database.prepare<{ count: number }>("SELECT COUNT(*) AS count FROM launch").get()?.count ?? 0;

const slotsIn = (database: Database): string[] =>
  database
    .prepare<{ task: string }>("SELECT task FROM slot")
    .all()
    .map(({ task }) => task);

/** Created once: emptying it is faster than creating another. */
const inMemory = (() => {
  const database = openDatabase(":memory:");
  migrate(database);
  const tables = database
    .prepare<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'newest_change'")
    .all();
  const empty = () => {
    for (const { name } of tables) database.prepare(`DELETE FROM ${name}`).run();
  };
  return { database: { ...database, close: () => undefined }, empty };
})();

/** Creates a store in memory that successive processes share. Only one schedule at a time can use it. */
export const createMemoryStorage = (): Storage => {
  const { database, empty } = inMemory;
  let lives = 0;
  return {
    boot: (clock) => {
      lives += 1;
      return createSqliteStore({ database, owner: ownerOf(lives), now: clock.now });
    },
    origin: (taskId) => originIn(database, taskId),
    launches: () => launchesIn(database),
    slots: () => slotsIn(database),
    remove: empty,
  };
};

/** Creates the store as it is shipped, in a file. */
export const createFileStorage = (log: Log): Storage => {
  const folder = mkdtempSync(join(FOLDER, "taskchart-chaos-"));
  const path = join(folder, "tasks.db");
  const stores: Store[] = [];
  const read = <T>(reading: (database: Database) => T): T => {
    const database = openDatabase(path);
    try {
      return reading(database);
    } finally {
      database.close();
    }
  };
  return {
    boot: (clock) => {
      const file = createStoreFile(path);
      const connector = createConnector({ file, openDatabase, owner: ownerOf(stores.length + 1), clock, log });
      const store = createResilientStore({ connector, connection: connector.connect(), clock, log, path });
      stores.push(store);
      return store;
    },
    origin: (taskId) => read((database) => originIn(database, taskId)),
    launches: () => read(launchesIn),
    slots: () => read(slotsIn),
    remove: () => {
      for (const store of stores) store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
