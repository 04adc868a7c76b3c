import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import { createRecordQuery, type RecordQuery } from "../sqlite/task-query.ts";
import type { AbandonedWork, ChangedTask, Store, TaskBelow, TaskRecord } from "../store.ts";
import { createMergedQuery, createTaskQuery, summariesOf } from "./merged-query.ts";
import { createReconnection, type FileAccess } from "./reconnect.ts";
import { createResilientSlots } from "./resilient-slots.ts";
import { createWriteBuffer } from "./write-buffer.ts";

const UNREACHABLE = "the task database cannot be reached, and commands to other processes go through it";

const NO_WORK: AbandonedWork = { tasks: [], prompts: [], launches: [] };

/**
 * Creates a store in a file that survives faults of the file: changes that cannot be written are kept in memory, and
 * written as soon as that works again. Its methods never throw. See `write-buffer.ts` for how it works.
 */
export const createResilientStore = (file: FileAccess): Store => {
  const buffer = createWriteBuffer();
  const reconnection = createReconnection(buffer, file);
  const { flush, read, isConnected, isClosed } = reconnection;
  const slots = createResilientSlots(reconnection, file.connector.openInMemory, file.clock.now, () =>
    buffer.records("any"),
  );

  const readOr = <T>(work: (store: SqliteStore) => T, otherwise: T): T => {
    const done = read(work);
    return done ? done.value : otherwise;
  };

  /** Wraps a method of the buffer so that what it notes is written at once, if possible. */
  const buffered =
    <Given extends unknown[]>(note: (...given: Given) => void) =>
    (...given: Given): void => {
      if (isClosed()) return;
      note(...given);
      flush();
    };

  const get = (taskId: string): TaskRecord | undefined => {
    if (buffer.isRemoved(taskId)) return undefined;
    const unsaved = buffer.get(taskId, "unsaved");
    if (unsaved) return unsaved;
    const stored = read((store) => store.get(taskId));
    if (!stored) return buffer.get(taskId, "any");
    return stored.value && { ...stored.value, task: buffer.withLatestProgress(stored.value.task) };
  };

  const list: Store["list"] = (filter) => {
    const stored = read((store) => store.list(filter));
    return stored ? buffer.mergeUnsaved(stored.value, filter) : buffer.list(filter);
  };

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

  const isOwnedElsewhere = (taskId: string): boolean =>
    !buffer.isRemoved(taskId) && readOr((store) => store.isOwnedElsewhere(taskId), false);

  /** Returns the tasks lost since the last call. Their runs ask for nothing here any more. */
  const takeDisowned = (): string[] => {
    const lost = buffer.takeDisowned();
    slots.forget(lost);
    return lost;
  };

  /** Answers from the file with all unsaved changes; without a file, from the tasks in the buffer. */
  const query = <T>(ask: (query: RecordQuery) => T): T => {
    const merged = (store: SqliteStore): RecordQuery => {
      const unsaved = { records: buffer.records("unsaved"), removed: buffer.removed() };
      return createRecordQuery(createMergedQuery(store.query, unsaved), get);
    };
    const answer = read((store) => ask(buffer.isSaved() ? store : merged(store)));
    return answer ? answer.value : ask(createRecordQuery(createTaskQuery(summariesOf(buffer.records("any"))), get));
  };

  /** Numbers the unsaved changes, starting above the newest change in the file. */
  const unsavedChanges = () => buffer.changes.numbered(readOr((store) => store.latestChange(), 0));

  const unsavedSince = (since: number): ChangedTask[] =>
    unsavedChanges().flatMap(({ taskId, change, first }) => {
      const record = change > since ? get(taskId) : undefined;
      if (!record) return [];
      return { change, createdChange: readOr((store) => store.createdChangeOf(taskId), undefined) ?? first, record };
    });

  if (!isConnected()) flush();
  return {
    commit: (change) => {
      slots.follow(change.records);
      buffered(buffer.commit)(change);
      return takeDisowned();
    },
    get,
    list,
    countOf: (parentSessionID) => {
      const stored = buffer.isSaved() ? read((store) => store.countOf(parentSessionID)) : undefined;
      return stored ? stored.value : list({ parentSessionID }).length;
    },
    below: (taskIds) => {
      const stored = buffer.isSaved() ? read((store) => store.below(taskIds)) : undefined;
      return stored ? stored.value : searchBelow(taskIds);
    },
    journal: (taskId) => {
      if (buffer.isRemoved(taskId)) return [];
      const stored = read((store) => store.journal(taskId));
      return stored ? [...stored.value, ...buffer.journal(taskId, "unsaved")] : buffer.journal(taskId, "any");
    },
    origin: (taskId) => {
      if (buffer.isRemoved(taskId)) return undefined;
      return readOr((store) => store.origin(taskId), undefined) ?? buffer.originOf(taskId);
    },
    remove: (taskIds) => {
      slots.forget(taskIds);
      buffered(buffer.remove)(taskIds);
    },
    storeProgress: buffered(buffer.storeProgress),
    sweep: (retention, now) => (flush() ? readOr((store) => store.sweep(retention, now), 0) : 0),

    isOwnedElsewhere,
    otherSupervisor: (taskId) =>
      buffer.isRemoved(taskId) ? undefined : readOr((store) => store.otherSupervisor(taskId), undefined),
    isAttended: (taskId) => readOr((store) => store.isAttended(taskId), true),
    isAlone: () => readOr((store) => store.isAlone(), false),
    claim: (taskId) => {
      if (isClosed()) return false;
      const claimed = flush() ? read((store) => store.claim(taskId)) : undefined;
      const record = claimed?.value === false ? undefined : get(taskId);
      if (!record) return false;
      if (claimed) buffer.own({ tasks: [record] });
      else if (isOwnedElsewhere(taskId)) return false;
      // If another process claims the task before this can be written, this process loses it then.
      else buffer.claim(record);
      return true;
    },
    release: buffered(buffer.release),

    grantSlots: slots.grantSlots,
    startQueued: slots.startQueued,
    places: slots.places,

    beginLaunch: buffered(buffer.beginLaunch),
    endLaunch: buffered(buffer.endLaunch),
    launches: () => readOr((store) => store.launches(), []),

    heartbeat: (now) => {
      if (isClosed()) return [];
      reconnection.reopenIfMoved();
      const lost = read((store) => store.heartbeat(now));
      buffer.disown(lost?.value ?? []);
      if (lost || !isConnected()) flush("urgent");
      return takeDisowned();
    },
    adopt: (now, wants) => {
      const adopted = flush() ? readOr((store) => store.adopt(now, wants), NO_WORK) : NO_WORK;
      buffer.own(adopted);
      return adopted;
    },
    close: reconnection.close,

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
      const stored = readOr((store) => store.changedSince(since, readLimit), []);
      const last = stored.length === readLimit ? stored.at(-1)?.change : undefined;
      const others = stored.filter(
        ({ record: { task } }) => !isUnsaved.has(task.sessionID) && !buffer.isRemoved(task.sessionID),
      );
      return [...others, ...unsaved.filter(({ change }) => last === undefined || change < last)]
        .sort((a, b) => a.change - b.change)
        .slice(0, limit);
    },

    submitCommand: (command, at) => {
      buffered(buffer.submitCommand)(command, at);
      if (!isConnected()) buffer.refuseCommand(command, UNREACHABLE);
    },
    takeCommands: () => {
      const isSaved = flush();
      const inMemory = isClosed() ? [] : buffer.takeCommands();
      return isSaved ? readOr((store) => store.takeCommands(), []) : inMemory;
    },
    storeOutcome: buffered(buffer.storeOutcome),
    takeOutcome: (id) => buffer.takeOutcome(id) ?? readOr((store) => store.takeOutcome(id), undefined),
  };
};
