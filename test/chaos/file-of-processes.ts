import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../src/services/platform/clock.ts";
import type { Log } from "../../src/services/platform/log.ts";
import { createResilientStore } from "../../src/services/store/resilient/resilient-store.ts";
import { createConnector, type OpenFile } from "../../src/services/store/sqlite/connect.ts";
import { createStoreFile } from "../../src/services/store/sqlite/database-file.ts";
import { type Database, databaseError, loadSqlite, type OpenDatabase } from "../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../src/services/store/sqlite/schema.ts";
import type { Store } from "../../src/services/store/store.ts";
import { FOLDER } from "../services/store/folder.ts";
import type { FileSituation, FileTrouble } from "./file-situations.ts";
import { launchesIn, originIn, ownerOf, prepareOwners, type Storage, slotsIn } from "./storage.ts";

const openDatabase = loadSqlite();

/** A store in a file, in which each process has a connection of its own. */
export interface FileOfProcesses extends Storage {
  trouble: FileTrouble;
}

/** Milliseconds after trouble within which each process has written what it kept: a heartbeat, and the time of a few calls. */
const WRITTEN_WITHIN = 4_000;

/** More pages than any file here has. */
const UNLIMITED_PAGES = 1_000_000;

/** Made once, and copied: to create the tables takes longer than a schedule. */
const template = (() => {
  let path: string | undefined;
  return () => {
    if (path) return path;
    const folder = mkdtempSync(join(FOLDER, "taskchart-chaos-template-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    path = join(folder, "tasks.db");
    const database = openDatabase(path);
    ensureSchema(database);
    database.close();
    return path;
  };
})();

/** What the connections of all processes meet. */
interface Connections {
  /** Opens a connection as the product does, but without the wait for a lock: who holds it here waits for the same thread. */
  open: OpenDatabase;
  begins(): void;
}

/** Counts a record that is read again, for another connection has written since. */
const readsOf = (database: Database, note: (situation: FileSituation) => void): Database["prepare"] => {
  let seen: string | undefined;
  return <Row>(sql: string) => {
    const statement = database.prepare<Row>(sql);
    if (!sql.includes("pragma_data_version")) return statement;
    return {
      ...statement,
      get: (...values) => {
        const row = statement.get(...values);
        const [version] = String((row as { version?: unknown } | undefined)?.version).split(" ");
        if (seen !== undefined && seen !== version) note("a record is read again, for another process has written");
        seen = version;
        return row;
      },
    };
  };
};

/** Creates the store in a file, as it is shipped, for several processes at once. `clock` is the true one. */
export const createFileOfProcesses = (
  log: Log,
  clock: Clock,
  machineOf: (place: number) => string,
  note: (situation: FileSituation) => void,
): FileOfProcesses => {
  const folder = mkdtempSync(join(FOLDER, "taskchart-chaos-"));
  const path = join(folder, "tasks.db");
  copyFileSync(template(), path);
  const stores = new Map<number, Store>();
  const alive = new Map<number, () => boolean>();
  const opened = new Set<Database>();
  let lives = 0;

  /** Reads as another program does: its connection stays open, so that no process is the last one to close the file. */
  const observer = openDatabase(path);
  const owners = prepareOwners(observer);
  const stranger = openDatabase(path);
  stranger.exec("PRAGMA busy_timeout = 0");
  const promptCount = observer.prepare<{ count: number }>("SELECT count(*) AS count FROM prompt");
  const pageCount = observer.prepare<{ page_count: number }>("PRAGMA page_count");

  let isLocked = false;
  let isFull = false;
  let planned: { after: number; ms: number } | undefined;
  let overAt = Number.NEGATIVE_INFINITY;
  let cancelEnd: () => void = () => undefined;
  /** When a process last ended a transaction, and in which step of the clock. */
  let wroteAt = Number.NaN;

  const limitPages = (pages: number) => {
    for (const database of opened) database.prepare(`PRAGMA max_page_count = ${pages}`).get();
  };

  const end = () => {
    planned = undefined;
    if (!isLocked && !isFull) return;
    cancelEnd();
    if (isLocked) stranger.exec("ROLLBACK");
    if (isFull) limitPages(UNLIMITED_PAGES);
    isLocked = false;
    isFull = false;
    overAt = clock.now();
  };

  const lockNow = (ms: number) => {
    stranger.exec("BEGIN IMMEDIATE");
    isLocked = true;
    cancelEnd = clock.after(ms, end);
    if (wroteAt === clock.now()) note("the file is locked between two transactions of one step");
  };

  const connections: Connections = {
    begins: () => {
      if (!planned) return;
      planned.after -= 1;
      if (planned.after >= 0) return;
      const { ms } = planned;
      planned = undefined;
      lockNow(ms);
    },
    open: (of, how) => {
      const database = openDatabase(of, how);
      if (of !== path) return database;
      database.exec("PRAGMA busy_timeout = 0");
      opened.add(database);
      if (isFull) limitPages(pageCount.get()?.page_count ?? 1);
      return {
        ...database,
        close: () => {
          opened.delete(database);
          database.close();
        },
        prepare: readsOf(database, note),
        transaction: (work) => {
          connections.begins();
          let hasBegun = false;
          try {
            const result = database.transaction(() => {
              hasBegun = true;
              return work();
            });
            wroteAt = clock.now();
            return result;
          } catch (error) {
            const { kind } = databaseError(error);
            if (kind === "full" && hasBegun) note("the disk is full in the middle of a transaction");
            if (kind === "busy") note("a process meets a locked file");
            throw error;
          }
        },
      };
    },
  };

  const attempt = (connect: () => OpenFile): OpenFile | undefined => {
    try {
      return connect();
    } catch (error) {
      if (databaseError(error).kind !== "busy" && databaseError(error).kind !== "full") throw error;
      note("a process starts while the file cannot be used");
      return undefined;
    }
  };

  return {
    boot: (own, isAlive, place = 0) => {
      lives += 1;
      const life = lives;
      const owner = { ...ownerOf(life, life), machine: machineOf(place) };
      if (isAlive) alive.set(life, isAlive);
      const file = createStoreFile(path);
      const running = ({ pid }: { pid: number }) => alive.get(pid)?.() === true;
      const connector = createConnector({ file, openDatabase: connections.open, owner, clock: own, log, running });
      const store = createResilientStore({ connector, connection: attempt(connector.connect), clock: own, log, path });
      stores.set(life, store);
      return store;
    },
    leaves: (owner, at) => {
      if (!isLocked && !isFull && clock.now() >= overAt + WRITTEN_WITHIN) return;
      end();
      const store = [...stores].find(([life]) => ownerOf(life).id === owner)?.[1];
      store?.heartbeat(at);
    },
    newestOwner: () => ownerOf(lives).id,
    isAlive: (owner) => [...alive].some(([life, isAlive]) => ownerOf(life).id === owner && isAlive()),
    ...owners,
    origin: (taskId) => originIn(observer, taskId),
    launches: () => launchesIn(observer),
    slots: () => slotsIn(observer),
    remove: () => {
      end();
      for (const store of stores.values()) store.close();
      for (const database of [observer, stranger]) database.close();
      rmSync(folder, { recursive: true, force: true });
    },
    trouble: {
      lock: (after, ms) => {
        if (!isLocked && !isFull) planned = { after, ms };
      },
      fill: (ms) => {
        if (isLocked || isFull) return;
        isFull = true;
        limitPages(pageCount.get()?.page_count ?? 1);
        cancelEnd = clock.after(ms, end);
      },
      checkpoint: () => {
        if (isLocked) return;
        const done = stranger.prepare<{ busy: number; log: number }>("PRAGMA wal_checkpoint(TRUNCATE)").get();
        if (done?.busy === 0) note("another program begins the log anew");
      },
      end,
      isUnderWay: () => isLocked || isFull || clock.now() < overAt + WRITTEN_WITHIN,
      overAt: () => overAt + WRITTEN_WITHIN,
      prompts: () => promptCount.get()?.count ?? 0,
    },
  };
};
