import { join } from "node:path";
import { type Clock, systemClock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Owner } from "./ownership.ts";
import { ADVICE } from "./resilient/reconnect.ts";
import { createResilientStore } from "./resilient/resilient-store.ts";
import { createConnector, type OpenFile } from "./sqlite/connect.ts";
import { createStoreFile } from "./sqlite/database-file.ts";
import { type DatabaseError, databaseError, type FaultKind, loadSqlite, type OpenDatabase } from "./sqlite/driver.ts";
import { ensureSchema } from "./sqlite/schema.ts";
import { createSqliteStore } from "./sqlite/sqlite-store.ts";
import type { Store } from "./store.ts";

/** Where tasks are kept, and for which owner. */
export interface StoreOptions {
  /** See `dataFolder`. Created if it does not exist. */
  folder: string;
  owner: Owner;
  log: Log;
  clock?: Clock;
  /** Called where tasks are kept in memory alone: no other process sees them, and this one sees none of others. */
  onInMemory?: () => void;
  /** Loads SQLite. Default: the runtime's; only tests need another. */
  load?: () => OpenDatabase;
}

/** The faults that do not pass while the process is alive. Opening is tried again after all others. */
const LASTING: ReadonlySet<FaultKind> = new Set<FaultKind>([
  "newer",
  "readonly",
  "unopenable",
  "unshared",
  "unlockable",
]);

/**
 * Opens the store in `tasks.db` of a folder. If that file cannot be used for a reason that does not pass, logs it and
 * keeps tasks in memory until the process ends.
 * @throws Error when the runtime has no SQLite; Bun and Node have one, and OpenCode itself does not start without
 */
export const openStore = ({
  folder,
  owner,
  log,
  clock = systemClock,
  onInMemory = () => undefined,
  load = loadSqlite,
}: StoreOptions): Store => {
  const path = join(folder, "tasks.db");
  const openDatabase = loaded(load);

  const inMemory = ({ kind, message: reason }: DatabaseError): Store => {
    const message = "Tasks cannot be stored on disk. They are kept in memory, and are gone when OpenCode ends.";
    log.error(message, { file: path, reason, advice: ADVICE[kind] });
    onInMemory();
    const database = openDatabase(":memory:");
    ensureSchema(database);
    return createSqliteStore({ database, owner, now: clock.now });
  };

  const connector = createConnector({ file: createStoreFile(path), openDatabase, owner, clock, log });
  const connected = attempt(connector.connect);
  if ("kind" in connected && LASTING.has(connected.kind)) return inMemory(connected);
  const connection = "kind" in connected ? undefined : connected;
  return createResilientStore({ connector, connection, clock, log, path });
};

const loaded = (load: () => OpenDatabase): OpenDatabase => {
  try {
    return load();
  } catch (cause) {
    throw new Error(`this runtime has no SQLite (${errorMessage(cause)}). Use Bun, or Node 22.13 or newer.`, { cause });
  }
};

const attempt = (connect: () => OpenFile): OpenFile | DatabaseError => {
  try {
    return connect();
  } catch (error) {
    return databaseError(error);
  }
};
