import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Journal } from "../../../src/machines/task/replay.ts";
import type { Owner } from "../../../src/services/store/ownership.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../../src/services/store/sqlite/journal-reader.ts";
import { ensureSchema } from "../../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../../src/services/store/sqlite/sqlite-store.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { temporaryFolder } from "./folder-and-log.ts";
import { ownerOf } from "./owners.ts";
import { START } from "./scripted-task.ts";

const openDatabase = loadSqlite();

/** Creates a file shared by several simulated processes. `openAs` opens a store for a new one. */
export const createSharedDatabase = (path = join(temporaryFolder(), "tasks.db")) => {
  const clock = createVirtualClock(START);
  const dead = new Set<number>();
  let pids = 0;
  return {
    clock,
    path,
    openAs: (id: string, given: Partial<Owner> = {}) => {
      pids += 1;
      const owner = ownerOf(id, { pid: pids, ...given });
      const database = openDatabase(path);
      ensureSchema(database);
      const store = createSqliteStore({ database, owner, now: clock.now, running: ({ pid }) => !dead.has(pid) });
      onTestFinished(() => store.close());
      return { store, kill: () => void dead.add(owner.pid) };
    },
    /** Returns the journal of a task in the file. */
    journal: (taskId: string): Journal => {
      const database = openDatabase(path);
      try {
        const journal = readJournal(database, taskId);
        if (!journal) throw new Error(`there is no task ${taskId}`);
        return journal;
      } finally {
        database.close();
      }
    },
    /** Returns the rows that a query finds in the file. */
    rows: <Row>(sql: string): Row[] => {
      const database = openDatabase(path);
      try {
        return database.prepare<Row>(sql).all();
      } finally {
        database.close();
      }
    },
  };
};
