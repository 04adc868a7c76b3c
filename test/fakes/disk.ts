import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Journal } from "../../src/machines/task/replay.ts";
import { type Database, loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../src/services/store/sqlite/journal-reader.ts";
import { ensureSchema } from "../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/services/store/store.ts";
import { FOLDER } from "../services/store/folder.ts";
import { ownerOf } from "../services/store/owners.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const openDatabase = loadSqlite();

/** A database shared by simulated processes. */
export interface Shared {
  /** Opens the store for a new process. Earlier ones count as dead, unless `keepAlive` was called. */
  boot(clock: VirtualClock): Store;
  /** From now on earlier processes count as alive until their lease expires, as real separate processes do. */
  keepAlive(): void;
}

/** A shared database in a file. */
export interface Disk extends Shared {
  path: string;
  remove(): void;
}

const sharing = (connect: () => Database): Shared => {
  let boots = 0;
  let allLive = false;
  return {
    boot: (clock) => {
      boots += 1;
      const pid = boots;
      const owner = ownerOf(`process ${pid}`, { pid, startedAt: pid });
      const running = (other: { pid: number }) => allLive || other.pid === boots;
      return createSqliteStore({ database: connect(), owner, now: clock.now, running });
    },
    keepAlive: () => {
      allLive = true;
    },
  };
};

const connectTo = (path: string): Database => {
  const database = openDatabase(path);
  ensureSchema(database);
  return database;
};

const newFolder = (): string => mkdtempSync(join(FOLDER, "taskchart-disk-"));

const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

/** An empty database file of the newest schema. Each disk begins as a copy: to create the tables takes longer than most tests. */
const EMPTY = (() => {
  const folder = newFolder();
  try {
    const path = join(folder, "tasks.db");
    connectTo(path).close();
    return readFileSync(path);
  } finally {
    remove(folder);
  }
})();

export const createDisk = (): Disk => {
  const folder = newFolder();
  const path = join(folder, "tasks.db");
  writeFileSync(path, EMPTY);
  return { ...sharing(() => connectTo(path)), path, remove: () => remove(folder) };
};

/** A shared database in memory. */
export interface Memory extends Shared {
  /** Returns the journal of a task as it is stored; undefined where there is no such task. */
  journal(taskId: string): Journal | undefined;
}

/** Creates a shared database in memory. */
export const createMemory = (): Memory => {
  // All processes share one connection, so closing it is ignored.
  const database = { ...connectTo(":memory:"), close: () => undefined };
  return { ...sharing(() => database), journal: (taskId) => readJournal(database, taskId) };
};
