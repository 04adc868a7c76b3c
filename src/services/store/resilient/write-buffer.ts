import type { TaskEvent } from "../../../machines/task/events.ts";
import type { Progress, Task } from "../../../task.ts";
import type { AbandonedWork, Change, PendingLaunch, PendingPrompts, TaskFilter, TaskRecord } from "../records.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import type { CommandOutcome, PendingCommand } from "../task-history.ts";
import { type BufferedChanges, createBufferedChanges } from "./buffered-changes.ts";
import { createBufferedTasks, inOrder, type Which } from "./buffered-tasks.ts";
import { createCommandsInMemory } from "./commands-in-memory.ts";

/**
 * How far the numbers of a new file are ahead of what this process knew of the lost one. Others, who will store in it
 * too, may have known of some more.
 */
const CHANGE_GAP = 1_000;

type Unsaved<T> = T & { isUnsaved: boolean };

/**
 * What a process has in hand of its store: all that the file does not have yet, and, should the file be lost, all that
 * goes on. Each of the changing methods takes note of what the method of the same name in `Store` is told.
 */
export interface WriteBuffer {
  /** Nothing is noted of tasks that were removed before. */
  commit(change: Change): void;
  remove(taskIds: string[]): void;
  noteProgress(counted: ReadonlyMap<string, Progress>): void;
  beginLaunch(launch: PendingLaunch): void;
  endLaunch(messageID: string): void;
  claim(record: TaskRecord): void;
  letGo(taskId: string): void;
  /** The file's record of a task is damaged: it gets the one that is in hand, if there is one. Returns that. */
  rewrite(taskId: string): TaskRecord | undefined;
  /** What is this process's from now on, and stands in the file already. */
  hold(estate: Partial<AbandonedWork>): void;
  /** Tasks that are another process's, or gone. */
  lose(taskIds: string[]): void;
  /** The tasks that were lost since this was asked last. */
  takeLost(): string[];
  ask(asked: PendingCommand, at: number): void;
  answer(id: string, answer: CommandOutcome): void;

  /** The requests that the file does not have, for tasks that are in hand; each once. */
  takeRequests(): PendingCommand[];
  /** Refuses the request that the file does not have, unless its task is in hand. */
  refuse(asked: PendingCommand, reason: string): void;
  /** An answer that was given without the file. */
  takeAnswer(id: string): CommandOutcome | undefined;
  changes: BufferedChanges;

  get(taskId: string, which: Which): TaskRecord | undefined;
  /** What a task from the file would be if the file had everything. */
  progressed(task: Task): Task;
  journal(taskId: string, which: Which): TaskEvent[];
  /** What a list from the file would be if the file had everything. */
  completed(listed: Task[], filter: TaskFilter): Task[];
  /** The tasks that are known without the file. */
  list(filter: TaskFilter): Task[];
  isRemoved(taskId: string): boolean;
  /** In the order of their launch. */
  records(which: Which): TaskRecord[];

  /** True when the file has everything. */
  isSaved(): boolean;
  /** Writes what the file does not have. When that throws, what was written is not written again. */
  save(store: SqliteStore): void;
  /** The file was lost: the new one has nothing yet of what goes on. */
  startOver(): void;
}

/** A ledger with nothing in it. */
export const createWriteBuffer = (): WriteBuffer => {
  const tasks = createBufferedTasks();
  const prompts = new Map<string, Unsaved<PendingPrompts>>();
  const launches = new Map<string, Unsaved<PendingLaunch>>();
  // Each of these holds only what the file has to be told yet.
  const progress = new Map<string, Progress>();
  const removed = new Set<string>();
  const claimed = new Set<string>();
  const released = new Set<string>();
  const ended = new Set<string>();
  const lost = new Set<string>();
  const changes = createBufferedChanges();
  const requests = createCommandsInMemory();
  const answers = new Map<string, CommandOutcome>();
  /** True when the file's numbers may be lower than those that were read from the one before it. */
  let isNew = false;

  /** A record, or its absence, says all that was to be said of the task. */
  const forget = (taskId: string) => {
    for (const pending of [progress, claimed, released]) pending.delete(taskId);
  };

  const drop = (taskId: string) => {
    forget(taskId);
    tasks.drop(taskId);
    changes.drop(taskId);
  };

  const lose = (taskIds: string[]) => {
    for (const taskId of taskIds) {
      drop(taskId);
      lost.add(taskId);
    }
  };

  const saveChange = (store: SqliteStore) => {
    const { records, journal, origins } = tasks.unsaved();
    const lists = [...prompts.values()].filter(({ isUnsaved }) => isUnsaved);
    if (records.length === 0 && lists.length === 0) return;
    lose(store.commit({ records, journal, prompts: lists }, origins));
    tasks.saved();
    for (const list of lists) {
      if (list.prompts.length === 0) prompts.delete(list.parentSessionID);
      else list.isUnsaved = false;
    }
  };

  const progressed = (task: Task): Task => {
    const latest = progress.get(task.sessionID);
    return latest ? { ...task, progress: latest } : task;
  };

  const drain = (pending: Set<string>, write: (id: string) => void) => {
    for (const id of pending) {
      write(id);
      pending.delete(id);
    }
  };

  return {
    commit: (change) => {
      const records = change.records.filter(({ task }) => !removed.has(task.sessionID));
      for (const { task } of records) {
        forget(task.sessionID);
        changes.changed(task.sessionID);
      }
      tasks.commit({ records, journal: change.journal.filter(({ taskId }) => !removed.has(taskId)) });
      for (const list of change.prompts) prompts.set(list.parentSessionID, { ...list, isUnsaved: true });
      lose(change.records.map(({ task }) => task.sessionID).filter((taskId) => removed.has(taskId)));
    },
    remove: (taskIds) => {
      for (const taskId of taskIds) {
        drop(taskId);
        removed.add(taskId);
      }
    },
    noteProgress: (counted) => {
      for (const taskId of counted.keys()) changes.changed(taskId);
      for (const [taskId, latest] of tasks.noteProgress(counted)) progress.set(taskId, latest);
    },
    beginLaunch: (launch) => void launches.set(launch.messageID, { ...launch, isUnsaved: true }),
    endLaunch: (messageID) => {
      if (!launches.get(messageID)?.isUnsaved) ended.add(messageID);
      launches.delete(messageID);
    },
    claim: (record) => {
      tasks.hold(record);
      if (!released.delete(record.task.sessionID)) claimed.add(record.task.sessionID);
    },
    letGo: (taskId) => {
      tasks.release(taskId);
      if (!claimed.delete(taskId)) released.add(taskId);
    },
    hold: (estate) => {
      estate.tasks?.forEach(tasks.hold);
      for (const { parentSessionID, prompts: more } of estate.prompts ?? []) {
        const own = prompts.get(parentSessionID) ?? { parentSessionID, prompts: [], isUnsaved: false };
        prompts.set(parentSessionID, { ...own, prompts: [...own.prompts, ...more] });
      }
      for (const launch of estate.launches ?? []) launches.set(launch.messageID, { ...launch, isUnsaved: false });
    },
    rewrite: tasks.rewrite,
    lose,
    takeLost: () => {
      const taken = [...lost];
      lost.clear();
      return taken;
    },
    ask: requests.ask,
    answer: (id, answer) => {
      if (!requests.answer(id, answer)) answers.set(id, answer);
    },

    takeRequests: () => requests.take((taskId) => tasks.get(taskId, "any") !== undefined),
    refuse: ({ taskId }, reason) => {
      const mine = tasks.get(taskId, "any") === undefined ? requests.take((other) => other === taskId) : [];
      for (const refused of mine) requests.answer(refused.id, { refused: reason });
    },
    takeAnswer: requests.takeAnswer,
    changes,

    get: tasks.get,
    progressed,
    journal: tasks.journal,
    completed: (listed, filter) => {
      const fresh = tasks.list(filter, "unsaved");
      const kept = listed
        .filter(({ sessionID }) => !removed.has(sessionID) && !tasks.get(sessionID, "unsaved"))
        .map(progressed);
      return fresh.length === 0 ? kept : inOrder([...kept, ...fresh]);
    },
    list: (filter) => tasks.list(filter, "any"),
    isRemoved: (taskId) => removed.has(taskId),
    records: (which) => tasks.list({}, which).flatMap(({ sessionID }) => tasks.get(sessionID, which) ?? []),

    isSaved: () =>
      [progress, removed, claimed, released, ended, answers].every(({ size }) => size === 0) &&
      !requests.isWaiting() &&
      [...prompts.values(), ...launches.values()].every(({ isUnsaved }) => !isUnsaved) &&
      tasks.list({}, "unsaved").length === 0,
    save: (store) => {
      if (isNew && changes.highest() > 0) store.raise(Math.ceil(changes.highest()) + CHANGE_GAP);
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
        if (!store.claim(taskId)) lose([taskId]);
      });
      drain(released, store.release);
      drain(ended, store.endLaunch);
      changes.saved();
      requests.handOver(store.submitCommand);
      for (const [id, answer] of answers) {
        store.storeOutcome(id, answer);
        answers.delete(id);
      }
    },
    startOver: () => {
      isNew = true;
      tasks.startOver();
      for (const item of [...prompts.values(), ...launches.values()]) item.isUnsaved = true;
      for (const pending of [progress, removed, claimed, released, ended, answers]) pending.clear();
    },
  };
};
