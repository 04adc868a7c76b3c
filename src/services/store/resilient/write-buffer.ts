import type { PendingLaunch } from "../../../machines/launch/events.ts";
import type { TaskInput } from "../../../machines/task/events.ts";
import { entryOf, type Progress, type Task, type TaskEntry } from "../../../task.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import {
  type AbandonedWork,
  type Change,
  COMMAND_LIFE_MS,
  type CommandOutcome,
  type PendingCommand,
  type PendingPrompts,
  type TaskFilter,
  type TaskRecord,
} from "../store.ts";
import { createBufferedChanges, createBufferedTasks, type Scope } from "./buffered-tasks.ts";

/**
 * What the write buffer is for: tasks go on while their file cannot be used (disk full, locked, damaged, removed), and
 * nothing is lost when it can be used again. How the pieces fit:
 *
 * - `resilient-store.ts` is the `Store`. It notes each change here first, then has `reconnect.ts` write what is unsaved.
 *   Normally that is this one change, and nothing unsaved is left.
 * - While writing fails, unsaved changes pile up here. Reads take what the file has and put the unsaved part over it
 *   (`merged-query.ts` for pages and counts). Without a file, the buffer alone is the store.
 * - `save` writes it all, in the order that keeps the file consistent. Records and events are one transaction; the rest
 *   are single writes that are forgotten one by one, so a failure in between repeats nothing.
 * - Live tasks, pending prompts and launches stay here after they are saved, marked as saved. If the file is lost,
 *   `startOver` marks them as unsaved, and `save` rebuilds them in a new file. Ended tasks cannot be rebuilt.
 * - `buffered-tasks.ts` has tasks, their events and the numbers of their changes, `resilient-slots.ts` the slots.
 *
 * Every write goes this way, so that the path of a bad day is that of every day (docs/decisions/056-every-write-goes-through-a-buffer.md).
 */

/**
 * The gap between the highest change number of a lost file that this process knows, and the first one of the new file.
 * Other processes, which continue in the new file too, may have seen some higher numbers.
 */
const CHANGE_GAP = 1_000;

type Unsaved<T> = T & { isUnsaved: boolean };

export type WriteBuffer = ReturnType<typeof createWriteBuffer>;

/**
 * Creates a copy in memory of all changes not yet in the file, and of all live work, from which a lost file is rebuilt. Methods
 * named as in `Store` note what that method is given.
 */
export const createWriteBuffer = () => {
  const tasks = createBufferedTasks();
  const prompts = new Map<string, Unsaved<PendingPrompts>>();
  const launches = new Map<string, Unsaved<PendingLaunch>>();
  // Each of these holds unsaved changes only.
  const progress = new Map<string, Progress>();
  const removed = new Set<string>();
  const claimed = new Set<string>();
  const released = new Set<string>();
  const endedLaunches = new Set<string>();
  const outcomes = new Map<string, CommandOutcome>();
  const changes = createBufferedChanges();
  const commands = createCommandsInMemory();
  const disowned = new Set<string>();
  /** True when the numbers of a new file may be lower than those read from the lost one. */
  let isNew = false;

  // Asked every second, and once for each change: this allocates nothing.
  const smallChanges = [progress, removed, claimed, released, endedLaunches, outcomes];
  const hasUnsaved = (items: ReadonlyMap<string, { isUnsaved: boolean }>): boolean => {
    for (const { isUnsaved } of items.values()) if (isUnsaved) return true;
    return false;
  };

  /** Drops the smaller changes of a task: its new record, or its removal, includes them. */
  const forgetPending = (taskId: string) => {
    for (const pending of [progress, claimed, released]) pending.delete(taskId);
  };

  const drop = (taskId: string) => {
    forgetPending(taskId);
    tasks.remove(taskId);
    changes.remove(taskId);
  };

  const disown = (taskIds: readonly string[]) => {
    for (const taskId of taskIds) {
      drop(taskId);
      disowned.add(taskId);
    }
  };

  const saveChange = (store: SqliteStore) => {
    const { records, journal, bases } = tasks.unsaved();
    const lists = [...prompts.values()].filter(({ isUnsaved }) => isUnsaved);
    if (records.length === 0 && lists.length === 0) return;
    disown(store.commit({ records, journal, prompts: lists }, bases));
    tasks.markSaved();
    // The file ends a launch in the transaction that stores its task.
    for (const { origin } of bases.values()) if (origin) endedLaunches.delete(origin.run.messageID);
    for (const list of lists) {
      if (list.prompts.length === 0) prompts.delete(list.parentSessionID);
      else list.isUnsaved = false;
    }
  };

  const endLaunch = (messageID: string) => {
    const launch = launches.get(messageID);
    if (launch && !launch.isUnsaved) endedLaunches.add(messageID);
    launches.delete(messageID);
  };

  const withLatestProgress = (task: Task): Task => {
    const latest = progress.get(task.sessionID);
    return latest ? { ...task, progress: latest } : task;
  };

  const withLatestUsage = (entry: TaskEntry): TaskEntry => {
    const latest = progress.get(entry.sessionID);
    return latest ? { ...entry, ownUsage: { tokens: latest.tokens, cost: latest.cost } } : entry;
  };

  /** Writes each id, and forgets it once it is written. */
  const drain = (pending: Set<string>, write: (id: string) => void) => {
    for (const id of pending) {
      write(id);
      pending.delete(id);
    }
  };

  return {
    /** Ignores tasks that were removed before; they are returned by `takeDisowned`. */
    commit: (change: Change) => {
      const taskIds = change.records.map(({ task }) => task.sessionID);
      for (const taskId of taskIds) {
        forgetPending(taskId);
        changes.add(taskId);
      }
      tasks.commit(change);
      for (const taskId of taskIds) {
        const launch = tasks.basisOf(taskId)?.origin;
        if (launch) endLaunch(launch.run.messageID);
      }
      for (const list of change.prompts) prompts.set(list.parentSessionID, { ...list, isUnsaved: true });
      disown(taskIds.filter((taskId) => removed.has(taskId)));
    },
    remove: (taskIds: readonly string[]) => {
      for (const taskId of taskIds) {
        drop(taskId);
        removed.add(taskId);
      }
    },
    storeProgress: (counted: ReadonlyMap<string, Progress>) => {
      for (const taskId of counted.keys()) changes.add(taskId);
      for (const [taskId, latest] of tasks.storeProgress(counted)) progress.set(taskId, latest);
    },
    beginLaunch: (launch: PendingLaunch) => void launches.set(launch.messageID, { ...launch, isUnsaved: true }),
    endLaunch,
    claim: (record: TaskRecord) => {
      tasks.own(record, false);
      if (!released.delete(record.task.sessionID)) claimed.add(record.task.sessionID);
    },
    release: (taskId: string) => {
      tasks.release(taskId);
      if (!claimed.delete(taskId)) released.add(taskId);
    },
    /** Adds work that this process owns from now on, and that the file has already. */
    own: (work: Partial<AbandonedWork>) => {
      for (const record of work.tasks ?? []) tasks.own(record, true);
      for (const { parentSessionID, prompts: more } of work.prompts ?? []) {
        const known = prompts.get(parentSessionID) ?? { parentSessionID, prompts: [], isUnsaved: false };
        prompts.set(parentSessionID, { ...known, prompts: [...known.prompts, ...more] });
      }
      for (const launch of work.launches ?? []) launches.set(launch.messageID, { ...launch, isUnsaved: false });
    },
    owned: tasks.owned,
    /** Marks the record in the buffer as unsaved, since that in the file is damaged, and returns it, if there is one. */
    rewrite: tasks.rewrite,
    /** Drops tasks that another process owns, or that are gone. */
    disown,
    /** Returns the tasks disowned since the last call. */
    takeDisowned: () => {
      const taken = [...disowned];
      disowned.clear();
      return taken;
    },
    submitCommand: commands.submit,
    storeOutcome: (id: string, outcome: CommandOutcome) => {
      if (!commands.storeOutcome(id, outcome)) outcomes.set(id, outcome);
    },

    /** Takes the commands in memory for tasks in the buffer, each once. */
    takeCommands: () => commands.take((taskId) => tasks.get(taskId, "any") !== undefined),
    /** Refuses a command that is still in memory, unless its task is in the buffer. */
    refuseCommand: ({ taskId }: PendingCommand, reason: string) => {
      if (tasks.get(taskId, "any")) return;
      for (const { id } of commands.take((other) => other === taskId)) commands.storeOutcome(id, { refused: reason });
    },
    /** Takes the outcome of a command that was taken from memory. */
    takeOutcome: commands.takeOutcome,
    changes,

    get: tasks.get,
    /** Returns a task read from the file with its unsaved progress. */
    withLatestProgress,
    journal: tasks.journal,
    originOf: (taskId: string): TaskInput | undefined => tasks.basisOf(taskId)?.origin ?? undefined,
    /** Returns a list read from the file with all unsaved changes. */
    mergeUnsaved: (listed: TaskEntry[], filter: TaskFilter): TaskEntry[] => {
      const unsaved = tasks.list(filter, "unsaved").map(entryOf);
      if (unsaved.length === 0 && removed.size === 0 && progress.size === 0) return listed;
      const isSaved = ({ sessionID }: TaskEntry) => !removed.has(sessionID) && !tasks.get(sessionID, "unsaved");
      const saved = listed.filter(isSaved).map(withLatestUsage);
      return [...saved, ...unsaved].sort((a, b) => a.launchedAt - b.launchedAt);
    },
    /** Returns the matching tasks in the buffer. */
    list: (filter: TaskFilter): TaskEntry[] => tasks.list(filter, "any").map(entryOf),
    isRemoved: (taskId: string) => removed.has(taskId),
    /** Returns the tasks that the file still has, although they were removed. */
    removed: () => [...removed],
    /** Returns the records in the order of their launch. */
    records: (scope: Scope): TaskRecord[] =>
      tasks.list({}, scope).flatMap(({ sessionID }) => tasks.get(sessionID, scope) ?? []),

    /** True when the file has everything. */
    isSaved: () =>
      !isNew &&
      smallChanges.every(({ size }) => size === 0) &&
      !commands.hasWaiting() &&
      !hasUnsaved(prompts) &&
      !hasUnsaved(launches) &&
      tasks.isSaved(),
    /** Writes everything unsaved. When that throws, a repeated call writes only what is left. */
    save: (store: SqliteStore) => {
      if (isNew && changes.highest() > 0) store.raiseChangeNumber(Math.ceil(changes.highest()) + CHANGE_GAP);
      isNew = false;
      if (removed.size > 0) store.remove([...removed]);
      removed.clear();
      for (const launch of launches.values()) {
        if (launch.isUnsaved) store.beginLaunch(launch);
        launch.isUnsaved = false;
      }
      saveChange(store);
      if (progress.size > 0) store.storeProgress(progress);
      progress.clear();
      drain(claimed, (taskId) => {
        if (store.claim(taskId, tasks.basisOf(taskId)?.endedRuns)) tasks.confirmOwned(taskId);
        else disown([taskId]);
      });
      drain(released, store.release);
      drain(endedLaunches, store.endLaunch);
      changes.clear();
      commands.handOver(store.submitCommand);
      for (const [id, outcome] of outcomes) {
        store.storeOutcome(id, outcome);
        outcomes.delete(id);
      }
    },
    /** Marks all live work as unsaved: the file was lost, and a new one takes its place. */
    startOver: () => {
      isNew = true;
      tasks.startOver();
      for (const item of [...prompts.values(), ...launches.values()]) item.isUnsaved = true;
      for (const pending of smallChanges) pending.clear();
    },
  };
};

/** Keeps commands that are not in the file: those of this process for its own tasks, and those to be written later. */
const createCommandsInMemory = () => {
  const waiting = new Map<string, { command: PendingCommand; at: number }>();
  /** Of each command taken here; undefined until it was carried out. */
  const outcomes = new Map<string, { outcome: CommandOutcome | undefined; at: number }>();

  const dropOlder = (than: number) => {
    for (const entries of [waiting, outcomes]) {
      for (const [id, { at }] of entries) if (at < than) entries.delete(id);
    }
  };

  return {
    /** `at` is epoch milliseconds. Drops the commands that have outlived `COMMAND_LIFE_MS` by then. */
    submit: (command: PendingCommand, at: number) => {
      dropOlder(at - COMMAND_LIFE_MS);
      waiting.set(command.id, { command, at });
    },
    /** Takes the commands for the tasks for which `isMine` returns true, each once. Their outcomes are kept here. */
    take: (isMine: (taskId: string) => boolean): PendingCommand[] => {
      if (waiting.size === 0) return [];
      const taken = [...waiting.values()].filter(({ command }) => isMine(command.taskId));
      for (const { command, at } of taken) {
        waiting.delete(command.id);
        outcomes.set(command.id, { outcome: undefined, at });
      }
      return taken.map(({ command }) => command);
    },
    /** False when the command was not taken here. */
    storeOutcome: (id: string, outcome: CommandOutcome): boolean => {
      const taken = outcomes.get(id);
      if (!taken) return false;
      outcomes.set(id, { ...taken, outcome });
      return true;
    },
    takeOutcome: (id: string): CommandOutcome | undefined => {
      const outcome = outcomes.get(id)?.outcome;
      if (outcome) outcomes.delete(id);
      return outcome;
    },
    /** True while there are commands that nobody has taken. */
    hasWaiting: () => waiting.size > 0,
    /** Passes all commands that nobody has taken to `to`, oldest first. When that throws, the rest stays. */
    handOver: (to: (command: PendingCommand, at: number) => void) => {
      for (const [id, { command, at }] of waiting) {
        to(command, at);
        waiting.delete(id);
      }
    },
  };
};
