import {
  type Database,
  DatabaseError,
  type FaultKind,
  type OpenDatabase,
} from "../../../../src/services/store/sqlite/driver.ts";

/** A disk that can be made to fail. */
export interface FaultyDisk {
  open: OpenDatabase;
  /** The newest database that was opened. */
  database(): Database;
  /** Makes writing fail from now on, after that many statements of each transaction. */
  failWrites(kind: FaultKind, after?: number): void;
  failReads(kind: FaultKind): void;
  heal(): void;
}

export const createFaultyDisk = (openDatabase: OpenDatabase): FaultyDisk => {
  let writes: { kind: FaultKind; after: number } | undefined;
  let reads: FaultKind | undefined;
  let newest: Database | undefined;
  let statementsLeft = Number.POSITIVE_INFINITY;

  const beforeRead = () => {
    if (reads) throw new DatabaseError(reads, "injected");
  };
  const beforeWrite = () => {
    statementsLeft -= 1;
    if (writes && statementsLeft < 0) throw new DatabaseError(writes.kind, "injected");
  };

  return {
    open: (path) => {
      const database = openDatabase(path);
      if (path === ":memory:") return database;
      // Not the one by which the file system is tried out.
      if (!path.includes(".probe-")) newest = database;
      return {
        ...database,
        prepare: <Row>(sql: string) => {
          const statement = database.prepare<Row>(sql);
          return {
            run: (...values) => {
              beforeWrite();
              return statement.run(...values);
            },
            get: (...values) => {
              beforeRead();
              return statement.get(...values);
            },
            all: (...values) => {
              beforeRead();
              return statement.all(...values);
            },
          };
        },
        transaction: (work) => {
          statementsLeft = writes ? writes.after : Number.POSITIVE_INFINITY;
          return database.transaction(work);
        },
      };
    },
    database: () => {
      if (!newest) throw new Error("nothing was opened");
      return newest;
    },
    failWrites: (kind, after = 0) => {
      writes = { kind, after };
    },
    failReads: (kind) => {
      reads = kind;
    },
    heal: () => {
      writes = undefined;
      reads = undefined;
    },
  };
};
