import { slotOf } from "../../../machines/task/slot.ts";
import type { LimitedRequest } from "../../../machines/task/slot-queue.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import { createRecordQuery, type RecordQuery } from "../sqlite/task-query.ts";
import type { AbandonedWork, ChangedTask, Store, TaskBelow, TaskHistory, TaskRecord } from "../store.ts";
import { createMergedQuery, createTaskQuery, summariesOf } from "./merged-query.ts";
import { createReconnection, type FileAccess, type Reconnection } from "./reconnect.ts";
import { createSlotsInMemory, type SlotKeeper } from "./slots-in-memory.ts";
import { createWriteBuffer, type WriteBuffer } from "./write-buffer.ts";

const nothing = (): AbandonedWork => ({ tasks: [], prompts: [], launches: [] });

const NO_PLACES: ReturnType<Store["places"]> = new Map();

/**
 * Creates a store in a file that survives faults of the file: changes that cannot be written are kept in memory, and
 * written as soon as that works again. Its methods never throw. See `write-buffer.ts` for how it works.
 */
export const createResilientStore = (file: FileAccess): Store => {
  const buffer = createWriteBuffer();
  const reconnection = createReconnection(buffer, file);
  const { flush, readOr, reopenIfMoved, isConnected, close } = reconnection;
  const slots = createSlotsInMemory(file.connector.openInMemory, file.clock.now);
  /** Runs that asked for a slot, as long as their records do not say that they have one, or need none. */
  const asked = new Map<string, { request: LimitedRequest; isHeld: boolean }>();
  /** Where those are noted: in a file, or, while it cannot be used, in memory. */
  let notedIn: SlotKeeper | undefined;
  let isClosed = false;

  /** Wraps a method of the buffer so that what it notes is written at once, if possible. */
  const buffered =
    <Given>(note: (given: Given) => void) =>
    (given: Given): void => {
      if (isClosed) return;
      note(given);
      flush();
    };

  const get = (taskId: string): TaskRecord | undefined => {
    if (buffer.isRemoved(taskId)) return undefined;
    const unsaved = buffer.get(taskId, "unsaved");
    if (unsaved) return unsaved;
    return readOr(
      (store) => {
        const record = store.get(taskId);
        return record && { ...record, task: buffer.withLatestProgress(record.task) };
      },
      () => buffer.get(taskId, "any"),
    );
  };

  const isOwnedElsewhere = (taskId: string): boolean =>
    !buffer.isRemoved(taskId) &&
    readOr(
      (store) => store.isOwnedElsewhere(taskId),
      () => false,
    );

  /** Claims the task in the file. Undefined when the file cannot be used. */
  const claimInFile = (taskId: string): boolean | undefined =>
    flush()
      ? readOr<boolean | undefined>(
          (store) => store.claim(taskId),
          () => undefined,
        )
      : undefined;

  const list: Store["list"] = (filter) =>
    readOr(
      (store) => buffer.mergeUnsaved(store.list(filter), filter),
      () => buffer.list(filter),
    );

  /** Finds tasks below others, level by level: for the time of an outage, when neither file nor buffer has them all. */
  const searchBelow = (taskIds: readonly string[]): TaskBelow[] => {
    const found = new Map<string, TaskBelow>();
    const search = (parentTaskId: string): void => {
      for (const { sessionID, launchedAt, ownUsage } of list({ parentTaskId })) {
        if (found.has(sessionID)) continue;
        found.set(sessionID, { sessionID, parentTaskId, launchedAt, ownUsage });
        search(sessionID);
      }
    };
    taskIds.forEach(search);
    return [...found.values()].sort((a, b) => a.launchedAt - b.launchedAt);
  };

  const askedRequests = () => {
    const { waiting = [], held = [] } = Object.groupBy(asked.values(), ({ isHeld }) => (isHeld ? "held" : "waiting"));
    return { waiting: waiting.map(({ request }) => request), held: held.map(({ request }) => request) };
  };

  /** Works with the slots in the file, or in memory while it cannot be used, after noting there what was noted elsewhere. */
  const withSlots = <T>(work: (keeper: SlotKeeper) => T, otherwise: T): T => {
    if (isClosed) return otherwise;
    const inFile = (store: SqliteStore): T => {
      if (notedIn !== store && asked.size > 0) store.noteSlots(askedRequests());
      notedIn = store;
      slots.end();
      return work(store);
    };
    const inMemory = (): T => {
      if (notedIn !== slots) slots.begin(buffer.records("any"), askedRequests());
      notedIn = slots;
      return work(slots);
    };
    return flush() ? readOr(inFile, inMemory) : inMemory();
  };

  /** Returns the tasks lost since the last call. Their runs ask for nothing here any more. */
  const takeDisowned = (): string[] => {
    const lost = buffer.takeDisowned();
    for (const taskId of lost) asked.delete(taskId);
    return lost;
  };

  const markHeld = (taskIds: readonly string[]) => {
    for (const taskId of taskIds) {
      const of = asked.get(taskId);
      if (of) of.isHeld = true;
    }
    return [...taskIds];
  };

  if (!isConnected()) flush();
  return {
    ...createResilientHistory(buffer, reconnection, get, () => isClosed),
    commit: (change) => {
      slots.follow(change.records);
      for (const { task, snapshot } of change.records) if (slotOf(snapshot) !== "waiting") asked.delete(task.sessionID);
      buffered(buffer.commit)(change);
      return takeDisowned();
    },
    get,
    list,
    countOf: (parentSessionID) =>
      buffer.isSaved()
        ? readOr(
            (store) => store.countOf(parentSessionID),
            () => buffer.list({ parentSessionID }).length,
          )
        : list({ parentSessionID }).length,
    below: (taskIds) =>
      readOr(
        (store) => (buffer.isSaved() ? store.below(taskIds) : searchBelow(taskIds)),
        () => searchBelow(taskIds),
      ),
    journal: (taskId) => {
      if (buffer.isRemoved(taskId)) return [];
      return readOr(
        (store) => [...store.journal(taskId), ...buffer.journal(taskId, "unsaved")],
        () => buffer.journal(taskId, "any"),
      );
    },
    remove: (taskIds) => {
      for (const taskId of taskIds) asked.delete(taskId);
      buffered(buffer.remove)(taskIds);
    },
    storeProgress: buffered(buffer.storeProgress),
    sweep: (retention, now) => {
      if (!flush()) return 0;
      return readOr(
        (store) => store.sweep(retention, now),
        () => 0,
      );
    },

    isOwnedElsewhere,
    otherSupervisor: (taskId) =>
      buffer.isRemoved(taskId)
        ? undefined
        : readOr(
            (store) => store.otherSupervisor(taskId),
            () => undefined,
          ),
    isAttended: (taskId) =>
      readOr(
        (store) => store.isAttended(taskId),
        () => true,
      ),
    isAlone: () =>
      readOr(
        (store) => store.isAlone(),
        () => false,
      ),
    claim: (taskId) => {
      if (isClosed) return false;
      const isMine = claimInFile(taskId);
      const record = isMine === false ? undefined : get(taskId);
      if (!record) return false;
      if (isMine) buffer.own({ tasks: [record] });
      else if (isOwnedElsewhere(taskId)) return false;
      // If another process claims the task before this can be written, this process loses it then.
      else buffer.claim(record);
      return true;
    },
    release: buffered(buffer.release),

    grantSlots: (requests) => {
      for (const request of requests) asked.set(request.taskId, { request, isHeld: false });
      return markHeld(withSlots((keeper) => keeper.grantSlots(requests), []));
    },
    startQueued: (isWanted) => markHeld(withSlots((keeper) => keeper.startQueued(isWanted), [])),
    places: (taskIds, ofEachLane) => withSlots((keeper) => keeper.places(taskIds, ofEachLane), NO_PLACES),

    beginLaunch: buffered(buffer.beginLaunch),
    endLaunch: buffered(buffer.endLaunch),

    heartbeat: (now) => {
      if (isClosed) return [];
      reopenIfMoved();
      const lost = readOr<string[] | undefined>(
        (store) => store.heartbeat(now),
        () => undefined,
      );
      buffer.disown(lost ?? []);
      if (lost || !isConnected()) flush("urgent");
      return takeDisowned();
    },
    adopt: (now, wants) => {
      if (!flush()) return nothing();
      const adopted = readOr((store) => store.adopt(now, wants), nothing);
      buffer.own(adopted);
      return adopted;
    },
    close: () => {
      close();
      isClosed = true;
    },
  };
};

const UNREACHABLE = "the task database cannot be reached, and commands to other processes go through it";

/**
 * Creates the history of a resilient store: the file's history with all unsaved changes; without a file, the tasks in the
 * buffer. Its methods never throw.
 * @param get returns the current record of a task, stored or not
 */
const createResilientHistory = (
  buffer: WriteBuffer,
  { readOr, flush, isConnected }: Reconnection,
  get: (taskId: string) => TaskRecord | undefined,
  isClosed: () => boolean,
): TaskHistory => {
  const unsaved = () => ({ records: buffer.records("unsaved"), removed: buffer.removed() });

  const query = <T>(run: (query: RecordQuery) => T): T =>
    readOr(
      (store) => run(buffer.isSaved() ? store : createRecordQuery(createMergedQuery(store.query, unsaved()), get)),
      () => run(createRecordQuery(createTaskQuery(summariesOf(buffer.records("any"))), get)),
    );

  /** Numbers the unsaved changes, starting above the newest change in the file. */
  const unsavedChanges = () => {
    const newest = readOr(
      (store) => store.latestChange(),
      () => 0,
    );
    return buffer.changes.numbered(newest);
  };

  const unsavedSince = (since: number): ChangedTask[] =>
    unsavedChanges()
      .filter(({ change }) => change > since)
      .flatMap(({ taskId, change, first }) => {
        const record = get(taskId);
        const createdChange = readOr(
          (store) => store.createdChangeOf(taskId),
          () => undefined,
        );
        return record ? [{ change, createdChange: createdChange ?? first, record }] : [];
      });

  return {
    page: (filter) => query(({ page }) => page(filter)),
    stats: () => query(({ stats }) => stats()),
    batch: (batchId) => query(({ batch }) => batch(batchId)),
    live: () => query(({ live }) => live()),
    newestEnded: (count, skip) => query(({ newestEnded }) => newestEnded(count, skip)),
    idsStartingWith: (beginning, limit) => query(({ idsStartingWith }) => idsStartingWith(beginning, limit)),
    latestChange: () => {
      unsavedChanges();
      return buffer.changes.highest();
    },
    changedSince: (since, limit) => {
      const unsaved = unsavedSince(since);
      const isUnsaved = new Set(unsaved.map(({ record }) => record.task.sessionID));
      // Stored changes of tasks that have changed again are left out below, so more are read than wanted.
      const readLimit = limit + unsaved.length;
      const stored = readOr(
        (store) => store.changedSince(since, readLimit),
        () => [],
      );
      const last = stored.length === readLimit ? stored.at(-1)?.change : undefined;
      const others = stored.filter(
        ({ record: { task } }) => !isUnsaved.has(task.sessionID) && !buffer.isRemoved(task.sessionID),
      );
      return [...others, ...unsaved.filter(({ change }) => last === undefined || change < last)]
        .sort((a, b) => a.change - b.change)
        .slice(0, limit);
    },

    submitCommand: (command, at) => {
      if (isClosed()) return;
      buffer.submitCommand(command, at);
      flush();
      if (!isConnected()) buffer.refuseCommand(command, UNREACHABLE);
    },
    takeCommands: () => {
      if (isClosed()) return [];
      const isSaved = flush();
      const inMemory = buffer.takeCommands();
      if (!isSaved) return inMemory;
      return readOr(
        (store) => store.takeCommands(),
        () => [],
      );
    },
    storeOutcome: (id, outcome) => {
      if (isClosed()) return;
      buffer.storeOutcome(id, outcome);
      flush();
    },
    takeOutcome: (id) =>
      buffer.takeOutcome(id) ??
      readOr(
        (store) => store.takeOutcome(id),
        () => undefined,
      ),
  };
};
