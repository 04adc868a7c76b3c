import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TaskInput } from "../../src/machines/task/events.ts";
import type { Log } from "../../src/services/platform/log.ts";
import { LEASE_MS, type Owner } from "../../src/services/store/ownership.ts";
import { createResilientStore } from "../../src/services/store/resilient/resilient-store.ts";
import { createConnector } from "../../src/services/store/sqlite/connect.ts";
import { createStoreFile } from "../../src/services/store/sqlite/database-file.ts";
import { type Database, loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../src/services/store/sqlite/journal-reader.ts";
import { ensureSchema } from "../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/services/store/store.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import { FOLDER } from "../services/store/folder.ts";
import type { FileTrouble } from "./file-situations.ts";

const openDatabase = loadSqlite();

/** The store of successive processes. */
export interface Storage {
  /**
   * Opens the store for the next process, which lives for as long as `isAlive` says; without that, earlier ones count as dead.
   * `place` is its number among those that share the store.
   */
  boot(clock: VirtualClock, isAlive?: () => boolean, place?: number): Store;
  /**
   * Is notified when the process of an owner has ended, or is stopped: what it had not written would be lost with it, or be
   * done again by who takes over, as is promised. So it happens when all is written. `at` is epoch milliseconds by its own clock.
   */
  leaves?(owner: string, at: number): void;
  /** Where each process has a connection of its own: what happens to their file. */
  trouble?: FileTrouble;
  /** The id of the owner that was booted last. */
  newestOwner(): string;
  /** True for an owner whose process has not ended; it may be stopped. */
  isAlive(owner: string): boolean;
  /** Returns who supervises which task, as it is stored. */
  supervisors(): Map<string, StoredOwner>;
  /** Returns the owners of the stored prompt to a parent that has this message id. */
  ownersOfPrompt(messageID: string): string[];
  /** Returns the input of the task's machine. */
  origin(taskId: string): TaskInput | undefined;
  /** Returns the number of launches that are stored as pending. */
  launches(): number;
  /** Returns the tasks that have a row of a slot. */
  slots(): string[];
  remove(): void;
}

/** An owner of tasks, as it is stored. */
export interface StoredOwner {
  id: string;
  /** Epoch milliseconds. */
  heartbeatAt: number;
}

/** Describes a process with this process's pid and another start time: earlier ones then count as gone. */
export const ownerOf = (life: number, pid: number = process.pid): Owner => ({
  id: `life ${life}`,
  pid,
  machine: "here",
  startedAt: life,
  directory: "/project",
  database: "opencode.db",
  takesOverAfter: LEASE_MS,
});

export const originIn = (database: Database, taskId: string): TaskInput | undefined =>
  readJournal(database, taskId)?.origin ?? undefined;

export const launchesIn = (database: Database): number =>
  database.prepare<{ count: number }>("SELECT COUNT(*) AS count FROM launch").get()?.count ?? 0;

export const slotsIn = (database: Database): string[] =>
  database
    .prepare<{ task: string }>("SELECT task FROM slot")
    .all()
    .map(({ task }) => task);

export const prepareOwners = (database: Database) => {
  const selectSupervised = database.prepare<{ task: string; id: string; heartbeatAt: number }>(
    `SELECT task.id AS task, owner AS id, ifnull(beat_at, 0) AS heartbeatAt
     FROM task LEFT JOIN owner ON owner.id = task.owner WHERE owner IS NOT NULL`,
  );
  const selectSenders = database.prepare<{ owner: string }>(
    "SELECT owner FROM prompt WHERE json_extract(prompt, '$.messageID') = ?",
  );
  return {
    supervisors: () => new Map(selectSupervised.all().map(({ task, ...owner }) => [task, owner])),
    ownersOfPrompt: (messageID: string) => selectSenders.all(messageID).map(({ owner }) => owner),
  };
};

/** Created once: emptying it is faster than creating another. */
const inMemory = (() => {
  const database = openDatabase(":memory:");
  ensureSchema(database);
  const tables = database
    .prepare<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'newest_change'")
    .all();
  const empty = () => {
    for (const { name } of tables) database.prepare(`DELETE FROM ${name}`).run();
  };
  return { database: { ...database, close: () => undefined }, owners: prepareOwners(database), empty };
})();

/**
 * Creates a store in memory that successive processes share. Only one schedule at a time can use it.
 * @param machineOf the machine on which the process with this number is
 */
export const createMemoryStorage = (machineOf: (place: number) => string): Storage => {
  const { database, owners, empty } = inMemory;
  let lives = 0;
  const alive = new Map<number, () => boolean>();
  return {
    boot: (clock, isAlive, place = 0) => {
      lives += 1;
      if (!isAlive) return createSqliteStore({ database, owner: ownerOf(lives), now: clock.now });
      const owner = { ...ownerOf(lives, lives), machine: machineOf(place) };
      alive.set(lives, isAlive);
      return createSqliteStore({ database, owner, now: clock.now, running: ({ pid }) => alive.get(pid)?.() === true });
    },
    newestOwner: () => ownerOf(lives).id,
    isAlive: (owner) => [...alive].some(([life, isAlive]) => ownerOf(life).id === owner && isAlive()),
    ...owners,
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
    newestOwner: () => ownerOf(stores.length).id,
    isAlive: (owner) => owner === ownerOf(stores.length).id,
    supervisors: () => read((database) => prepareOwners(database).supervisors()),
    ownersOfPrompt: (messageID) => read((database) => prepareOwners(database).ownersOfPrompt(messageID)),
    origin: (taskId) => read((database) => originIn(database, taskId)),
    launches: () => read(launchesIn),
    slots: () => read(slotsIn),
    remove: () => {
      for (const store of stores) store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
