import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openStore, type StoreOptions } from "../../../../src/services/store/open-store.ts";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../../../src/services/store/store.ts";
import { createVirtualClock, type VirtualClock } from "../../../fakes/virtual-clock.ts";
import { createRecordingLog, type RecordingLog, temporaryFolder } from "../folder-and-log.ts";
import { ownerOf } from "../owners.ts";
import { START } from "../scripted-task.ts";
import { createFaultyDisk, type FaultyDisk } from "./faulty-database.ts";

const openDatabase = loadSqlite();

/** A resilient store in its own folder, on a disk that can be made to fail. */
export interface OpenedStore {
  store: Store;
  folder: string;
  path: string;
  disk: FaultyDisk;
  log: RecordingLog;
  clock: VirtualClock;
}

export const openResilient = async (
  given: Partial<Omit<StoreOptions, "clock">> & { clock?: VirtualClock } = {},
  disk = createFaultyDisk(openDatabase),
): Promise<OpenedStore> => {
  const folder = given.folder ?? temporaryFolder();
  const log = createRecordingLog();
  const clock = given.clock ?? createVirtualClock(START);
  const parts = { owner: ownerOf("me"), log, load: () => disk.open, ...given, clock, folder };
  const store = openStore(parts);
  onTestFinished(() => store.close());
  return { store, folder, path: join(folder, "tasks.db"), disk, log, clock };
};

/** Reads from a file as another process does. */
export const readFile = <T>(path: string, read: (store: Store) => T): T => {
  const database = openDatabase(path);
  ensureSchema(database);
  const store = createSqliteStore({ database, owner: ownerOf("reader", { pid: 1 }), now: () => START });
  try {
    return read(store);
  } finally {
    store.close();
  }
};
