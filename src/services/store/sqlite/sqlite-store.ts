import type { TaskInput } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import { HEARTBEAT_MS, type KnownOwner, type Owner, STEADY_MS } from "../ownership.ts";
import type { AbandonedWork, Change, TaskRecord } from "../records.ts";
import type { Store } from "../store.ts";
import { type Database, databaseError } from "./database.ts";
import { refuseNewer } from "./migrations.ts";
import { createOwnershipTables } from "./ownership-tables.ts";
import { createRowReader, type OnDamaged, refuseDamaged } from "./rows.ts";
import { createSqliteHistory, type FileHistory } from "./sqlite-history.ts";
import { createSummaryTables } from "./summary-table.ts";
import { createTaskTables } from "./task-tables.ts";

/** A store in a file. Every method throws `DatabaseError`, until it is closed. */
export interface SqliteStore extends Store, FileHistory {
  /**
   * `origins` says what tasks began with whose first record here is not that of their launch: null when their journal
   * here does not go back to it.
   */
  commit(change: Change, origins?: ReadonlyMap<string, TaskInput | null>): string[];
  /** Lets the file go as it is. What this process has in it stays its own. */
  abandon(): void;
  /**
   * Writes all that stands in the log of changes into the file itself, and begins a new log. False when other processes
   * have the file open, and perhaps another log: then the file has everything, and the log stays as it is.
   */
  renewLog(): boolean;
}

/** What a store in a file works with. */
export interface SqliteStoreDeps {
  /** Up to date, see `migrate`. */
  database: Database;
  owner: Owner;
  /** Epoch milliseconds. */
  now: () => number;
  /** Tells whether a process of this machine still runs; only tests need another than the system's. */
  running?: (process: KnownOwner) => boolean;
  /** Takes care of damaged rows. Default: the first one is a fault of the whole file. */
  onDamaged?: OnDamaged;
}

const originOf = ({ snapshot: { context } }: TaskRecord): TaskInput => ({ facts: context.facts, run: context.run });

/** Keeps tasks in a file that many processes share, on behalf of one of its owners. Throws `DatabaseError`. */
export const createSqliteStore = ({
  database,
  owner: me,
  now,
  running,
  onDamaged = refuseDamaged,
}: SqliteStoreDeps): SqliteStore => {
  const rows = createRowReader(onDamaged);
  const tasks = createTaskTables(database, me, rows);
  const listing = createSummaryTables(database, rows);
  const estate = createOwnershipTables(database, me, rows, running);
  /** Tasks that are live here. */
  const held = new Set<string>();
  /** Tasks that this store has written or removed: when the file does not have them, they were removed. */
  const known = new Set<string>();
  let signedAt = Number.NEGATIVE_INFINITY;
  /** Since when there is no gap in the signs. */
  let steadySince = now();
  let isClosed = false;

  /**
   * After a pause, of a machine that slept for instance, nothing is written in the name of an owner that seems gone.
   * Signs at `at` in any case, where it is given.
   */
  const signed = <T>(work: () => T, at?: number): T => {
    const isDue = at !== undefined || Math.abs(now() - signedAt) >= HEARTBEAT_MS;
    const time = at ?? now();
    if (Math.abs(time - signedAt) > STEADY_MS) steadySince = time;
    const result = database.transaction(() => {
      if (isDue) estate.sign(time);
      return work();
    });
    if (isDue) signedAt = time;
    return result;
  };

  const write = <T>(work: () => T, otherwise: T): T => {
    if (isClosed) return otherwise;
    return signed(() => {
      // Once a newer version is at work, it could not read what we write.
      refuseNewer(database);
      return work();
    });
  };

  const store = (record: TaskRecord, origin: TaskInput | null): boolean => {
    const id = record.task.sessionID;
    if (!held.has(id) && !known.has(id) && tasks.insert(record, origin)) {
      listing.insert(record);
      // The launch is not pending any more. Done here, so that no crash comes between.
      if (origin) estate.endLaunch(origin.run.messageID);
      return true;
    }
    if (!tasks.update(record, held.has(id) ? "own" : "free")) return false;
    listing.update(record);
    return true;
  };

  const commit: SqliteStore["commit"] = ({ records, journal, prompts }, origins = new Map()) => {
    const lost = write(() => {
      const refused = new Set(
        records
          .filter((record) => {
            const origin = origins.get(record.task.sessionID);
            return !store(record, origin === undefined ? originOf(record) : origin);
          })
          .map(({ task }) => task.sessionID),
      );
      for (const entry of journal) if (!refused.has(entry.taskId)) tasks.append(entry);
      for (const list of prompts) estate.replacePrompts(list);
      return refused;
    }, new Set<string>());
    for (const { task, snapshot } of records) {
      known.add(task.sessionID);
      if (lost.has(task.sessionID) || isAtRest(snapshot)) held.delete(task.sessionID);
      else held.add(task.sessionID);
    }
    return [...lost];
  };

  const hold = (taskId: string) => {
    held.add(taskId);
    known.add(taskId);
  };

  signed(() => undefined, now());
  return {
    ...createSqliteHistory({ database, owner: me, listing, tasks, rows, now, write, isOpen: () => !isClosed }),
    commit,
    get: (taskId) => (isClosed ? undefined : tasks.get(taskId)),
    list: (filter) => (isClosed ? [] : tasks.list(filter)),
    journal: (taskId) => (isClosed ? [] : tasks.journal(taskId)),
    remove: (taskIds) => {
      write(() => {
        for (const taskId of taskIds) tasks.remove(taskId);
      }, undefined);
      for (const taskId of taskIds) {
        held.delete(taskId);
        known.add(taskId);
      }
    },
    storeProgress: (counted) => {
      if (counted.size === 0) return;
      write(() => {
        for (const [taskId, progress] of counted) {
          if (tasks.noteProgress(taskId, progress)) listing.touch(taskId);
        }
      }, undefined);
    },
    sweep: (retention, at) => write(() => tasks.sweep(retention, at), 0),

    isOwnedElsewhere: (taskId) => {
      const owner = isClosed ? undefined : tasks.ownerOf(taskId);
      return owner !== undefined && owner !== null && owner !== me.id;
    },
    isAttended: (taskId) => isClosed || estate.isAttended(taskId, { now: now(), since: steadySince }),
    claim: (taskId) => {
      // Nobody could go on from a record that cannot be read.
      const take = () => tasks.get(taskId) !== undefined && (tasks.take(taskId) || tasks.ownerOf(taskId) === me.id);
      const isMine = write(take, false);
      if (isMine) hold(taskId);
      return isMine;
    },
    release: (taskId) => {
      write(() => tasks.give(taskId), undefined);
      held.delete(taskId);
    },

    beginLaunch: (launch) => write(() => estate.beginLaunch(launch), undefined),
    endLaunch: (messageID) => write(() => estate.endLaunch(messageID), undefined),

    heartbeat: (at) => {
      if (isClosed) return [];
      // Also beside a newer version: what is live here is not for others to take.
      const mine = new Set(signed(tasks.owned, at));
      const lost = [...held].filter((id) => !mine.has(id));
      for (const id of lost) held.delete(id);
      return lost;
    },
    adopt: (at, wants) => {
      const watch = { now: at, since: steadySince };
      const nothing: AbandonedWork = { tasks: [], prompts: [], launches: [] };
      if (isClosed || !estate.hasOrphans(watch)) return nothing;
      const left = write(() => estate.takeOver(watch, wants), nothing);
      for (const { task } of left.tasks) hold(task.sessionID);
      return left;
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      try {
        estate.resign();
      } finally {
        database.close();
      }
    },
    abandon: () => {
      isClosed = true;
      database.close();
    },
    renewLog: () => {
      try {
        database.prepare("PRAGMA journal_mode = DELETE").get();
      } catch (error) {
        if (databaseError(error).kind !== "busy") throw error;
        database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
        return false;
      }
      database.prepare("PRAGMA journal_mode = WAL").get();
      return true;
    },
  };
};
