import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { DatabaseError, databaseError, type OpenDatabase } from "./database.ts";
import type { Owner } from "./ownership.ts";
import { migrate } from "./schema.ts";
import type { OnDamaged } from "./sqlite-rows.ts";
import { createSqliteStore, type SqliteStore } from "./sqlite-store.ts";
import type { TaskRecord } from "./store.ts";
import type { StoreFile } from "./store-file.ts";

/** A store, and the file that it is in. */
export interface Connection {
  store: SqliteStore;
  identity: string | undefined;
}

/** The way to the file. Its methods throw `DatabaseError`. */
export interface Connector {
  /** Opens the file, up to date. A damaged one is set aside first, and a new one begun. */
  connect(): Connection;
  /** Sets the file aside as damaged, unless it is another than that by now. `reason` says what is wrong with it. */
  setAside(identity: string | undefined, reason: string): void;
  /** Says who knows tasks without their rows: what a damaged row of the file is to be read as. */
  standIn(recordOf: (taskId: string) => TaskRecord | undefined): void;
  /** True when the file of the connection has been moved, removed or replaced. */
  isOutdated(connection: Connection): boolean;
}

/** What a connector works with. */
export interface ConnectorParts {
  file: StoreFile;
  openDatabase: OpenDatabase;
  owner: Owner;
  clock: Clock;
  log: Log;
}

/** Files that are set aside in the life of a process. New files that are damaged again and again are the disk's fault. */
const MOST_DAMAGED = 3;

export const createConnector = ({ file, openDatabase, owner, clock, log }: ConnectorParts): Connector => {
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

  const open = (identity: string | undefined): Connection => {
    const database = openDatabase(file.path);
    try {
      migrate(database);
      const store = createSqliteStore({ database, owner, now: clock.now, onDamaged });
      if (file.identity() !== identity) throw new DatabaseError("busy", "it was replaced while it was opened");
      return { store, identity };
    } catch (error) {
      database.close();
      throw error;
    }
  };

  return {
    connect: () => {
      for (;;) {
        file.prepare();
        const identity = file.identity();
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
    isOutdated: ({ identity }) => file.identity() !== identity,
  };
};
