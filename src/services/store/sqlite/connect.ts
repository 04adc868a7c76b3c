import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Owner } from "../ownership.ts";
import type { TaskRecord } from "../records.ts";
import { DatabaseError, databaseError, type OpenDatabase } from "./database.ts";
import type { LogIdentity, StoreFile } from "./database-file.ts";
import { migrate } from "./migrations.ts";
import type { OnDamaged } from "./rows.ts";
import { createSqliteStore, type SqliteStore } from "./sqlite-store.ts";

/** A store, and the file that it is in. */
export interface OpenFile {
  store: SqliteStore;
  identity: string | undefined;
  /** The log of changes that the store writes to. */
  log: LogIdentity;
}

/**
 * What has become of a file that is open: it is `whole`; it was `replaced`, which is moved or removed too; or its log of
 * changes was, without which nobody else reads what was written last (`cutOff`).
 */
export type Condition = "whole" | "replaced" | "cutOff";

/** The way to the file. Its methods throw `DatabaseError`. */
export interface Connector {
  /** Opens the file, up to date. A damaged one is set aside first, and a new one begun. */
  connect(): OpenFile;
  /** Sets the file aside as damaged, unless it is another than that by now. `reason` says what is wrong with it. */
  setAside(identity: string | undefined, reason: string): void;
  /** Says who knows tasks without their rows: what a damaged row of the file is to be read as. */
  standIn(recordOf: (taskId: string) => TaskRecord | undefined): void;
  conditionOf(connection: OpenFile): Condition;
  /** Begins a new log of changes for a file that is cut off. Undefined when other processes have to let go of it first. */
  reconnect(connection: OpenFile): OpenFile | undefined;
}

/** What a connector works with. */
export interface ConnectorDeps {
  file: StoreFile;
  openDatabase: OpenDatabase;
  owner: Owner;
  clock: Clock;
  log: Log;
}

/** Files that are set aside in the life of a process. New files that are damaged again and again are the disk's fault. */
const MOST_DAMAGED = 3;

export const createConnector = ({ file, openDatabase, owner, clock, log }: ConnectorDeps): Connector => {
  let damaged = 0;
  let recordInHand: (taskId: string) => TaskRecord | undefined = () => undefined;
  /** Each damaged row is said once. */
  const reported = new Set<string>();

  const onDamaged: OnDamaged = ({ table, id, reason }) => {
    const row = `${table} ${id}`;
    const inHand = table === "task" ? recordInHand(id) : undefined;
    if (reported.has(row)) return inHand;
    reported.add(row);
    const message = inHand
      ? `A row in the file of tasks is damaged (${row}). It is written anew from memory: nothing is lost.`
      : `A row in the file of tasks is damaged (${row}). It is left out, and stays in the file; all other rows go on.`;
    log.error(message, { file: file.path, table, id, reason });
    return inHand;
  };

  const setAside = (identity: string | undefined, reason: string) => {
    damaged += 1;
    if (damaged > MOST_DAMAGED) {
      throw new DatabaseError("other", `${MOST_DAMAGED} files have been damaged one after the other: ${reason}`);
    }
    const name = file.setAside(identity, clock.now());
    if (name === undefined) return;
    log.error(
      "The file of tasks is damaged. It was set aside, and a new one begun: ended tasks of before are not listed.",
      {
        file: file.path,
        setAside: name,
        reason,
      },
    );
  };

  const open = (identity: string | undefined): OpenFile => {
    const database = openDatabase(file.path);
    try {
      migrate(database);
      const store = createSqliteStore({ database, owner, now: clock.now, onDamaged });
      if (file.identity() !== identity) throw new DatabaseError("busy", "it was replaced while it was opened");
      return { store, identity, log: file.log() };
    } catch (error) {
      database.close();
      throw error;
    }
  };

  /** A process that was killed leaves both files of its log; when it is closed, both are removed. */
  const reportLostLog = () => {
    const { wal, shm } = file.log();
    if (shm === undefined || wal !== undefined) return;
    log.error(
      "The file of tasks lacks its log of changes: what was stored last before OpenCode was ended is lost, and tasks go on from what the file has.",
      { file: file.path, missing: `${file.path}-wal` },
    );
  };

  const tighten = () => {
    const { tightened, refused } = file.tighten();
    if (tightened.length > 0) {
      log.info("Other users of this machine could read tasks: that is over.", { tightened });
    }
    if (refused.length > 0) {
      const advice = "Make the folder and its files their user's alone (chmod 700, chmod 600).";
      log.error("Other users of this machine may be able to read tasks.", { refused, advice });
    }
  };

  const conditionOf: Connector["conditionOf"] = (connection) => {
    if (file.identity() !== connection.identity) return "replaced";
    const known = connection.log;
    // Where there is no log, changes go into the file at once.
    if (known.wal === undefined && known.shm === undefined) return "whole";
    const { wal, shm } = file.log();
    return wal === known.wal && shm === known.shm ? "whole" : "cutOff";
  };

  return {
    connect: () => {
      for (;;) {
        file.prepare();
        tighten();
        const identity = file.identity();
        reportLostLog();
        try {
          return open(identity);
        } catch (error) {
          const fault = databaseError(error);
          if (fault.kind !== "damaged") throw fault;
          setAside(identity, fault.message);
        }
      }
    },
    setAside,
    standIn: (recordOf) => {
      recordInHand = recordOf;
    },
    conditionOf,
    reconnect: (connection) => {
      const { wal } = file.log();
      // What another process has begun to write to must not be written over, nor removed.
      if (wal !== undefined && wal !== connection.log.wal) return undefined;
      return connection.store.renewLog() ? { ...connection, log: file.log() } : undefined;
    },
  };
};
