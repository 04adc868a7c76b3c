import type { NoticePrompt } from "../../../machines/outbox/events.ts";
import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import type { LimitedRequest } from "../../../machines/task/slot-queue.ts";
import { HEARTBEAT_MS, type KnownOwner, type Owner, STEADY_MS } from "../ownership.ts";
import type { AbandonedWork, Change, Store, TaskRecord } from "../store.ts";
import { type Database, databaseError } from "./database.ts";
import { createOwnershipTables } from "./ownership-tables.ts";
import { createRowReader, type OnDamaged, refuseDamaged } from "./rows.ts";
import { refuseNewer } from "./schema.ts";
import { createSlotTable, type QueueView } from "./slot-table.ts";
import { createSqliteHistory, type FileHistory } from "./sqlite-history.ts";
import { createSummaryTables } from "./summary-table.ts";
import { createTaskList } from "./task-list.ts";
import { createTaskTables } from "./task-tables.ts";
import { createTasksBelow } from "./tasks-below.ts";
import { createTextTable } from "./text-table.ts";

/** A store in a file. Every method throws `DatabaseError` until it is closed, and does nothing after that. */
export interface SqliteStore extends Store, FileHistory {
  /**
   * `origins` has the inputs of tasks whose first record in this file is not that of their launch; null when the journal
   * does not go back to the launch either.
   */
  commit(change: Change, origins?: ReadonlyMap<string, TaskInput | null>): string[];
  /** Notes runs of this process that asked for slots before, where the file has lost them, or could not be used then. */
  noteSlots(asked: { waiting: readonly LimitedRequest[]; held: readonly LimitedRequest[] }): void;
  /** Closes the file without freeing what this process owns in it. */
  abandon(): void;
  /**
   * Writes the whole write-ahead log into the file, and starts a new log. False when other processes have the file open,
   * perhaps with another log: the file then has everything, but the log stays the same.
   */
  renewLog(): boolean;
}

/** Dependencies of a store in a file. */
export interface SqliteStoreDeps {
  /** With its tables, see `ensureSchema`. */
  database: Database;
  owner: Owner;
  /** Epoch milliseconds. */
  now: () => number;
  /** Returns whether a process of this machine is alive. Default: asks the system; only tests need another. */
  running?: ((process: KnownOwner) => boolean) | undefined;
  /** Handles damaged rows. Default: treats the first one as damage of the whole file. */
  onDamaged?: OnDamaged;
}

const originOf = ({ snapshot: { context } }: TaskRecord): TaskInput => ({ facts: context.facts, run: context.run });

/** Creates the store of one owner in a file that many processes share. Throws `DatabaseError`. */
export const createSqliteStore = ({
  database,
  owner: me,
  now,
  running,
  onDamaged = refuseDamaged,
}: SqliteStoreDeps): SqliteStore => {
  const texts = createTextTable(database);
  const rows = createRowReader(database, (row) => {
    if (row.table === "task") texts.forget(row.id);
    return onDamaged(row);
  });
  const tasks = createTaskTables(database, me, rows, texts);
  const summaries = createSummaryTables(database, rows);
  const list = createTaskList(database);
  const below = createTasksBelow(database);
  const ownership = createOwnershipTables(database, me, rows, running);
  const slots = createSlotTable(database, me);
  /** The tasks that this owner supervises. */
  const owned = new Set<string>();
  /** Tasks that this store has written or removed. If the file does not have one, it was removed, and is not inserted again. */
  const known = new Set<string>();
  /** Tasks that are not this owner's, or not yet, and whose runs asked for a slot: it is left over where they do not become so. */
  const asking = new Set<string>();
  let heartbeatAt = Number.NEGATIVE_INFINITY;
  /** The time since which heartbeats came without a gap. */
  let steadySince = now();
  let isClosed = false;

  /**
   * Does `work` in a transaction. Renews the lease first if the last heartbeat is older than `HEARTBEAT_MS`, so that a
   * process that slept never writes under an expired lease; if `at` is given, always, with that time.
   */
  const withHeartbeat = <T>(work: () => T, at?: number): T => {
    const isDue = at !== undefined || Math.abs(now() - heartbeatAt) >= HEARTBEAT_MS;
    const time = at ?? now();
    if (Math.abs(time - heartbeatAt) > STEADY_MS) steadySince = time;
    try {
      const result = database.transaction(() => {
        if (isDue) ownership.heartbeat(time);
        return work();
      });
      if (isDue) heartbeatAt = time;
      return result;
    } catch (error) {
      // What it stored was rolled back.
      texts.forget();
      slots.forget();
      throw error;
    }
  };

  const disown = (taskId: string) => {
    owned.delete(taskId);
    texts.forget(taskId);
    slots.forget(taskId);
  };

  const write = <T>(work: () => T, otherwise: T): T => {
    if (isClosed) return otherwise;
    return withHeartbeat(() => {
      // A newer version of the plugin could not read what this one writes.
      refuseNewer(database);
      return work();
    });
  };

  const store = (record: TaskRecord, events: readonly TaskEvent[], origin: TaskInput | null): boolean => {
    const id = record.task.sessionID;
    if (!owned.has(id) && !known.has(id) && tasks.insert(record, events, origin)) {
      summaries.insert(record);
      // In the same transaction, so that no crash leaves the launch pending.
      if (origin) ownership.endLaunch(origin.run.messageID);
      return true;
    }
    if (!tasks.update(record, events, owned.has(id) ? "own" : "free")) return false;
    summaries.update(record);
    return true;
  };

  const commit: SqliteStore["commit"] = ({ records, journal, prompts }, origins = new Map()) => {
    const events = Map.groupBy(journal, ({ taskId }) => taskId);
    const eventsOf = (taskId: string): TaskEvent[] => events.get(taskId)?.map(({ event }) => event) ?? [];
    const lost = write(() => {
      const changed = new Set<string>();
      const refused = new Set<string>();
      for (const record of records) {
        const id = record.task.sessionID;
        const origin = origins.get(id);
        // A task may have several records, but has one journal.
        const more = changed.has(id) ? [] : eventsOf(id);
        changed.add(id);
        if (store(record, more, origin === undefined ? originOf(record) : origin)) slots.follow(record);
        else refused.add(id);
      }
      for (const id of events.keys()) if (!changed.has(id)) tasks.append(id, eventsOf(id));
      for (const id of refused) slots.drop(id);
      for (const { parentSessionID, prompts: list } of prompts) {
        // Whoever took a prompt over with the end of another process's task would deliver that end a second time.
        const isOwn = ({ runs }: NoticePrompt): boolean => runs.every(({ taskId }) => !refused.has(taskId));
        ownership.replacePrompts({ parentSessionID, prompts: list.filter(isOwn) });
      }
      return refused;
    }, new Set<string>());
    for (const { task, snapshot } of records) {
      known.add(task.sessionID);
      asking.delete(task.sessionID);
      if (lost.has(task.sessionID) || isAtRest(snapshot)) disown(task.sessionID);
      else owned.add(task.sessionID);
    }
    return [...lost];
  };

  const noteAsking = (requests: readonly LimitedRequest[]) => {
    for (const { taskId } of requests) if (!owned.has(taskId)) asking.add(taskId);
  };

  const own = (taskId: string) => {
    owned.add(taskId);
    known.add(taskId);
  };

  const queueView = (): QueueView => {
    const at = now();
    return { now: at, ...ownership.queueOwners({ now: at, since: steadySince }) };
  };

  withHeartbeat(() => undefined, now());
  return {
    ...createSqliteHistory({
      database,
      owner: me,
      summaries,
      tasks,
      rows,
      now,
      write,
      isOpen: () => !isClosed,
    }),
    commit,
    get: (taskId) => (isClosed ? undefined : tasks.get(taskId)),
    list: (filter) => (isClosed ? [] : list(filter)),
    countOf: (parentSessionID) => (isClosed ? 0 : tasks.countOf(parentSessionID)),
    below: (taskIds) => (isClosed ? [] : below(taskIds)),
    journal: (taskId) => (isClosed ? [] : tasks.journal(taskId)),
    remove: (taskIds) => {
      write(() => {
        for (const taskId of taskIds) tasks.remove(taskId);
      }, undefined);
      for (const taskId of taskIds) {
        disown(taskId);
        known.add(taskId);
      }
    },
    storeProgress: (counted) => {
      if (counted.size === 0) return;
      write(() => {
        for (const [taskId, progress] of counted) {
          if (tasks.storeProgress(taskId, progress)) summaries.updateUsage(taskId, progress);
        }
      }, undefined);
    },
    sweep: (retention, at) => write(() => tasks.sweep(retention, at), 0),

    isOwnedElsewhere: (taskId) => {
      const owner = isClosed ? undefined : tasks.ownerOf(taskId);
      return owner !== undefined && owner !== null && owner !== me.id;
    },
    otherSupervisor: (taskId) =>
      isClosed ? undefined : ownership.otherSupervisor(taskId, { now: now(), since: steadySince }),
    isAttended: (taskId) => isClosed || ownership.isAttended(taskId, { now: now(), since: steadySince }),
    isAlone: () => !isClosed && ownership.isAlone({ now: now(), since: steadySince }),
    claim: (taskId) => {
      // A task whose record cannot be read cannot go on.
      const take = () => tasks.get(taskId) !== undefined && (tasks.claim(taskId) || tasks.ownerOf(taskId) === me.id);
      const isMine = write(take, false);
      if (isMine) own(taskId);
      return isMine;
    },
    release: (taskId) => {
      write(() => tasks.release(taskId), undefined);
      disown(taskId);
    },

    grantSlots: (requests) => {
      noteAsking(requests);
      return write(() => slots.grant(requests, queueView()), []);
    },
    noteSlots: ({ waiting, held }) => {
      noteAsking([...waiting, ...held]);
      write(() => slots.note(waiting, held, queueView()), undefined);
    },
    startQueued: (isWanted) => {
      if (isClosed) return [];
      const view = queueView();
      return slots.mayStart(isWanted, view) ? write(() => slots.start(isWanted, view), []) : [];
    },
    places: (taskIds, ofEachLane = 0) =>
      isClosed || (taskIds.length === 0 && ofEachLane === 0)
        ? new Map()
        : slots.places(taskIds, ofEachLane, queueView()),

    beginLaunch: (launch) => write(() => ownership.beginLaunch(launch), undefined),
    endLaunch: (messageID) => write(() => ownership.endLaunch(messageID), undefined),

    heartbeat: (at) => {
      if (isClosed) return [];
      // Even if a newer version has the file by now: other processes must not take over tasks that are alive here.
      const lost = withHeartbeat(() => {
        // Nobody else makes a task this owner's: where there are as many as before, they are the same.
        const mine = tasks.countOwnedByMe() === owned.size ? owned : new Set(tasks.ownedByMe());
        const gone = mine === owned ? [] : [...owned].filter((id) => !mine.has(id));
        if (gone.length > 0 || asking.size > 0) slots.removeLost();
        return gone;
      }, at);
      asking.clear();
      lost.forEach(disown);
      return lost;
    },
    adopt: (at, wants) => {
      const check = { now: at, since: steadySince };
      const nothing: AbandonedWork = { tasks: [], prompts: [], launches: [] };
      if (isClosed || !ownership.hasOrphans(check)) return nothing;
      const adopted = write(() => {
        const work = ownership.takeOver(check, wants);
        slots.takeOver(work.tasks, ownership.livingOwners(check));
        return work;
      }, nothing);
      for (const { task } of adopted.tasks) own(task.sessionID);
      return adopted;
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      try {
        ownership.deleteOwner();
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
