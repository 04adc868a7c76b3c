import type { NoticePrompt } from "../../../machines/outbox/events.ts";
import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import type { LimitedRequest } from "../../../machines/task/slot-queue.ts";
import { addUp, addUpWakes } from "../../../task.ts";
import { HEARTBEAT_MS, type Owner, STEADY_MS } from "../ownership.ts";
import { type AbandonedWork, type Change, originOf, type Store, type TaskRecord } from "../store.ts";
import { type Database, databaseError } from "./driver.ts";
import { createListedTable } from "./listed-table.ts";
import { createCommandTable, createOwnershipTables } from "./ownership-tables.ts";
import { refuseNewer } from "./schema.ts";
import { createSlotTable, type QueueView } from "./slot-table.ts";
import { createFileQuery, createRecordQuery, statsOf } from "./task-query.ts";
import { createTaskTable } from "./task-table.ts";
import { createRowReader, createTextTable, type OnDamaged, refuseDamaged } from "./text-table.ts";

export type SqliteStore = ReturnType<typeof createSqliteStore>;

/** A file, and who works with it. */
interface StoreInFile {
  /** With its tables, see `ensureSchema`. */
  database: Database;
  owner: Owner;
  /** Epoch milliseconds. */
  now: () => number;
  /** Returns whether a process of this machine is alive. Default: asks the system; only tests need another. */
  running?: ((process: Pick<Owner, "pid" | "startedAt">) => boolean) | undefined;
  /** Handles damaged rows. Default: treats the first one as damage of the whole file. */
  onDamaged?: OnDamaged;
}

/** What a process knows of a task from before the changes that it could not write yet. */
export interface Basis {
  /** The machine's input, from which the journal replays; null where that does not go back to the launch. */
  origin: TaskInput | null;
  /** How many of its runs had ended in the file. */
  endedRuns: number;
}

const NO_STATS = statsOf({
  tasks: [],
  ended: 0,
  duration: { sum: 0, max: 0, min: 0 },
  usage: addUp([]),
  wakeCosts: addUpWakes([]),
});

/**
 * Creates the store of one owner in a file that many processes share. Throws `DatabaseError`, as every method does until it is
 * closed; after that, they do nothing.
 */
export const createSqliteStore = ({ database, owner: me, now, running, onDamaged = refuseDamaged }: StoreInFile) => {
  const texts = createTextTable(database);
  const rows = createRowReader(database, (row) => {
    if (row.table === "task") texts.forget(row.id);
    return onDamaged(row);
  });
  const tasks = createTaskTable(database, me, rows, texts);
  const listed = createListedTable(database, rows);
  const commands = createCommandTable(database, me, rows);
  const query = createFileQuery(database);
  const records = createRecordQuery(query, tasks.get);
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

  const leaseCheck = (at = now()) => ({ now: at, since: steadySince });

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

  const read = <T>(work: () => T, otherwise: T): T => (isClosed ? otherwise : work());

  /** True for a task without an owner of which other processes have ended more runs than that. */
  const hasGoneOn = (taskId: string, endedRuns: number): boolean =>
    tasks.ownerOf(taskId) === null && listed.endedRunsOf(taskId) > endedRuns;

  const store = (record: TaskRecord, events: readonly TaskEvent[], { origin, endedRuns }: Basis): boolean => {
    const id = record.task.sessionID;
    if (!owned.has(id) && !known.has(id) && tasks.insert(record, events, origin)) {
      listed.insert(record);
      // In the same transaction, so that no crash leaves the launch pending.
      if (origin) ownership.endLaunch(origin.run.messageID);
      return true;
    }
    if (!owned.has(id) && hasGoneOn(id, endedRuns)) return false;
    if (!tasks.update(record, events, owned.has(id) ? "own" : "free")) return false;
    listed.update(record);
    return true;
  };

  const commit = (
    { records, journal, prompts, launches }: Change,
    bases: ReadonlyMap<string, Basis> = new Map(),
  ): string[] => {
    const events = Map.groupBy(journal, ({ taskId }) => taskId);
    const eventsOf = (taskId: string): TaskEvent[] => events.get(taskId)?.map(({ event }) => event) ?? [];
    const lost = write(() => {
      const changed = new Set<string>();
      const refused = new Set<string>();
      for (const record of records) {
        const id = record.task.sessionID;
        const basis = bases.get(id) ?? { origin: originOf(record, launches), endedRuns: Number.POSITIVE_INFINITY };
        // A task may have several records, but has one journal.
        const more = changed.has(id) ? [] : eventsOf(id);
        changed.add(id);
        if (store(record, more, basis)) slots.follow(record);
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
    const check = leaseCheck();
    return { now: check.now, ...ownership.queueOwners(check) };
  };

  withHeartbeat(() => undefined, now());
  return {
    /**
     * `bases` says what is known of tasks from before the changes: nothing is stored of one of which another process has
     * ended a run since. Default: their first records are those of their launches, and no other process has changed them.
     */
    commit,
    get: (taskId) => read(() => tasks.get(taskId), undefined),
    list: (filter) => read(() => listed.list(filter), []),
    countOf: (parentSessionID) => read(() => tasks.countOf(parentSessionID), 0),
    below: (taskIds) => read(() => listed.below(taskIds), []),
    journal: (taskId) => read(() => tasks.journal(taskId), []),
    origin: (taskId) => read(() => tasks.origin(taskId), undefined),
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
          if (tasks.storeProgress(taskId, progress)) listed.updateUsage(taskId, progress);
        }
      }, undefined);
    },
    sweep: (retention, at) => write(() => tasks.sweep(retention, at), 0),

    isOwnedElsewhere: (taskId) => {
      const owner = isClosed ? undefined : tasks.ownerOf(taskId);
      return owner !== undefined && owner !== null && owner !== me.id;
    },
    otherSupervisor: (taskId) => (isClosed ? undefined : ownership.otherSupervisor(taskId, leaseCheck())),
    isAttended: (taskId) => isClosed || ownership.isAttended(taskId, leaseCheck()),
    isAlone: () => !isClosed && ownership.isAlone(leaseCheck()),
    /** Not where more runs have ended than `endedRuns`: another process has ended them since. Default: any number may have. */
    claim: (taskId: string, endedRuns = Number.POSITIVE_INFINITY) => {
      const isClaimed = (): boolean => tasks.claim(taskId) || tasks.ownerOf(taskId) === me.id;
      // A task whose record cannot be read cannot go on.
      const take = () => tasks.get(taskId) !== undefined && !hasGoneOn(taskId, endedRuns) && isClaimed();
      const isMine = write(take, false);
      if (isMine) own(taskId);
      return isMine;
    },
    /** Tells of tasks that were this owner's over an earlier connection. A heartbeat returns those that are not any more. */
    expectOwned: (taskIds: readonly string[]) => taskIds.forEach(own),
    release: (taskId) => {
      write(() => tasks.release(taskId), undefined);
      disown(taskId);
    },

    grantSlots: (requests) => {
      noteAsking(requests);
      return write(() => slots.grant(requests, queueView()), []);
    },
    /** Notes runs of this process that asked for slots before, where the file has lost them, or could not be used then. */
    noteSlots: ({ waiting, held }: { waiting: readonly LimitedRequest[]; held: readonly LimitedRequest[] }) => {
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
    launches: () => read(() => ownership.launches(leaseCheck()), []),

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
      const check = leaseCheck(at);
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

    page: (filter) => read(() => records.page(filter), { records: [], total: 0 }),
    stats: () => read(records.stats, NO_STATS),
    batch: (batchId) => read(() => records.batch(batchId), []),
    live: () => read(records.live, []),
    newestEnded: (count, skip) => read(() => records.newestEnded(count, skip), []),
    idsStartingWith: (beginning, limit) => read(() => records.idsStartingWith(beginning, limit), []),
    latestChange: () => read(listed.latestChange, 0),
    changedSince: (change, limit) => read(() => listed.changedSince(change, limit), []),
    /** Finds tasks, for a history that knows of more than the file. Not to be used when the store is closed. */
    query,
    /** Returns the number of the change that created the task; undefined when the file does not have it. */
    createdChangeOf: (taskId: string) => read(() => listed.createdChangeOf(taskId), undefined),
    /** Makes all later changes get higher numbers than `change`. */
    raiseChangeNumber: (change: number) => write(() => listed.raiseChangeNumber(change), undefined),

    submitCommand: (command, at) => write(() => commands.submit(command, at), undefined),
    takeCommands: () => (read(() => commands.isForMe(now()), false) ? write(() => commands.take(now()), []) : []),
    storeOutcome: (id, outcome) => write(() => commands.storeOutcome(id, outcome), undefined),
    takeOutcome: (id) =>
      read(() => commands.hasOutcome(id), false) ? write(() => commands.takeOutcome(id), undefined) : undefined,

    close: () => {
      if (isClosed) return;
      isClosed = true;
      try {
        ownership.deleteOwner();
      } finally {
        database.close();
      }
    },
    /** Closes the file without freeing what this process owns in it. */
    abandon: () => {
      isClosed = true;
      database.close();
    },
    /**
     * Writes the whole write-ahead log into the file, and starts a new log. False when other processes have the file open,
     * perhaps with another log: the file then has everything, but the log stays the same.
     */
    renewLog: (): boolean => {
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
  } satisfies Store & Record<string, unknown>;
};
