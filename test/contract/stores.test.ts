import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { openStore } from "../../src/services/store/open-store.ts";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/services/store/store.ts";
import { createVirtualClock } from "../fakes/virtual-clock.ts";
import { createRecordingLog, temporaryFolder } from "../services/store/folder-and-log.ts";
import { ownerOf } from "../services/store/owners.ts";
import { createFaultyDisk } from "../services/store/resilient/faulty-database.ts";
import { describeStore } from "./store-contract.ts";

const openDatabase = loadSqlite();

const closedLater = <T extends Store>(store: T): T => {
  onTestFinished(() => store.close());
  return store;
};

describe("the store that can have no file keeps the contract of a store", () => {
  describeStore(async () => {
    const inTheWay = join(temporaryFolder(), "file");
    writeFileSync(inTheWay, "");
    const store = openStore({ folder: join(inTheWay, "data"), owner: ownerOf("me"), log: createRecordingLog() });
    return closedLater(store);
  });
});

describe("the store in a file keeps the contract of a store", () => {
  describeStore(() => {
    const database = openDatabase(join(temporaryFolder(), "tasks.db"));
    ensureSchema(database);
    return closedLater(createSqliteStore({ database, owner: ownerOf("me"), now: Date.now }));
  });
});

describe("the resilient store keeps the contract of a store", () => {
  describeStore(async () =>
    closedLater(openStore({ folder: temporaryFolder(), owner: ownerOf("me"), log: createRecordingLog() })),
  );
});

describe.each(["full", "busy", "other"] as const)("the resilient store on a disk that is %s", (kind) => {
  describeStore(
    async () => {
      const disk = createFaultyDisk(openDatabase);
      const clock = createVirtualClock();
      const parts = { folder: temporaryFolder(), owner: ownerOf("me"), log: createRecordingLog(), clock };
      const store = openStore({ ...parts, load: () => disk.open });
      disk.failWrites(kind);
      return closedLater(store);
    },
    { writes: false },
  );
});

describe("the resilient store on a disk that never answered", () => {
  describeStore(
    async () => {
      const disk = createFaultyDisk(openDatabase);
      disk.failReads("other");
      const parts = { folder: temporaryFolder(), owner: ownerOf("me"), log: createRecordingLog() };
      return closedLater(openStore({ ...parts, load: () => disk.open }));
    },
    { writes: false },
  );
});
