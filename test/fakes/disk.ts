import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../src/services/store/schema.ts";
import { loadSqlite } from "../../src/services/store/sqlite.ts";
import { createSqliteStore } from "../../src/services/store/sqlite-store.ts";
import type { Store } from "../../src/services/store/store.ts";
import { ownerOf } from "../store/owners.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const openDatabase = await loadSqlite();

/** In memory where there is such a folder: what dies in these tests is no machine, and syncing takes half of their time. */
const FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** A database file for processes that only pretend to be several. */
export interface Disk {
  path: string;
  /** Opens the store for a new process. Those before it count as dead, unless they are said to live. */
  boot(clock: VirtualClock): Store;
  /** From now on processes count as living until their lease is over, as if each had its own. */
  keepAlive(): void;
  remove(): void;
}

export const createDisk = (): Disk => {
  const folder = mkdtempSync(join(FOLDER, "taskchart-disk-"));
  const path = join(folder, "tasks.db");
  let boots = 0;
  let allLive = false;
  return {
    path,
    boot: (clock) => {
      boots += 1;
      const pid = boots;
      const owner = ownerOf(`process ${pid}`, { pid, startedAt: pid });
      const database = openDatabase(path);
      migrate(database);
      return createSqliteStore({ database, owner, now: clock.now, running: (other) => allLive || other.pid === boots });
    },
    keepAlive: () => {
      allLive = true;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
