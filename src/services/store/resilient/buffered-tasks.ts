import type { TaskEvent } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import { hasEnded, type Progress, type Task } from "../../../task.ts";
import type { Basis } from "../sqlite/sqlite-store.ts";
import { type Change, type JournalEntry, matches, originOf, type TaskFilter, type TaskRecord } from "../store.ts";

interface Entry extends Basis {
  record: TaskRecord;
  events: TaskEvent[];
  /** False until the file says that this process owns it. */
  isOwned: boolean;
}

const endedRunsOf = ({ task }: TaskRecord): number => task.resumeCount + (hasEnded(task) ? 1 : 0);

/** `unsaved`: the tasks whose record in the file is missing or outdated. `any`: all tasks in the buffer. */
export type Scope = "unsaved" | "any";

/** Sorts tasks by their launch. Tasks of the same millisecond keep their order. */
const byLaunch = (tasks: Task[]): Task[] => tasks.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));

/** Creates the tasks of a write buffer: all live tasks of this process, and ended ones that the file does not have yet. */
export const createBufferedTasks = () => {
  const entries = new Map<string, Entry>();
  /** Those of the entries that the file lacks: normally those of one change, however many tasks live. */
  const unsaved = new Map<string, Entry>();
  /** The events that the file lacks, of all tasks, in the order of acceptance. */
  let journal: JournalEntry[] = [];

  const inScope = (scope: Scope): ReadonlyMap<string, Entry> => (scope === "unsaved" ? unsaved : entries);

  return {
    commit: ({ records, journal: more, launches }: Pick<Change, "records" | "journal" | "launches">) => {
      for (const record of records) {
        const { sessionID } = record.task;
        const known = entries.get(sessionID);
        const entry: Entry = known
          ? { ...known, record }
          : {
              ...{ record, origin: originOf(record, launches), events: [] },
              ...{ endedRuns: record.task.resumeCount, isOwned: false },
            };
        entries.set(sessionID, entry);
        unsaved.set(sessionID, entry);
      }
      for (const entry of more) entries.get(entry.taskId)?.events.push(entry.event);
      journal.push(...more);
    },
    /** Returns the progress that no unsaved record includes: it must be written separately. */
    storeProgress: (counted: ReadonlyMap<string, Progress>): Map<string, Progress> => {
      for (const [taskId, progress] of counted) {
        const entry = entries.get(taskId);
        if (entry) entry.record = { ...entry.record, task: { ...entry.record.task, progress } };
      }
      return new Map([...counted].filter(([taskId]) => !unsaved.has(taskId)));
    },
    /** Adds a task that this process owns from now on, and that the file has as it is. `isOwned`: the file says that, too. */
    own: (record: TaskRecord, isOwned: boolean) => {
      if (entries.has(record.task.sessionID)) return;
      const endedRuns = endedRunsOf(record);
      entries.set(record.task.sessionID, { record, origin: null, events: [], endedRuns, isOwned });
    },
    /** Notes that the file says now that this process owns it. */
    confirmOwned: (taskId: string) => {
      const entry = entries.get(taskId);
      if (entry) entry.isOwned = true;
    },
    /** Removes an owned task to which nothing happened. An unsaved one stays. */
    release: (taskId: string) => {
      if (!unsaved.has(taskId)) entries.delete(taskId);
    },
    /** Removes a task that was deleted, or that another process owns now. */
    remove: (taskId: string) => {
      entries.delete(taskId);
      unsaved.delete(taskId);
      journal = journal.filter((entry) => entry.taskId !== taskId);
    },

    /** Marks a task's record as unsaved, since the file's copy is damaged, and returns it. Its journal is intact. */
    rewrite: (taskId: string): TaskRecord | undefined => {
      const entry = entries.get(taskId);
      if (entry) unsaved.set(taskId, entry);
      return entry?.record;
    },

    get: (taskId: string, scope: Scope): TaskRecord | undefined => inScope(scope).get(taskId)?.record,
    basisOf: (taskId: string): Basis | undefined => entries.get(taskId),
    /** Returns the tasks that were this process's when the file was last written. */
    owned: (): string[] => [...entries].flatMap(([taskId, { isOwned }]) => (isOwned ? [taskId] : [])),
    /** `unsaved`: the task's events that the file lacks. `any`: all its events in the buffer. */
    journal: (taskId: string, scope: Scope): TaskEvent[] =>
      scope === "any"
        ? (entries.get(taskId)?.events ?? [])
        : journal.filter((entry) => entry.taskId === taskId).map(({ event }) => event),
    /** Returns the matching tasks in the order of their launch. */
    list: (filter: TaskFilter, scope: Scope): Task[] =>
      byLaunch(
        [...inScope(scope).values()]
          .filter(({ record }) => matches(record.task, filter))
          .map(({ record }) => record.task),
      ),

    /** True when the file has everything. */
    isSaved: () => unsaved.size === 0,
    /** Returns everything that the file lacks. `bases` has an entry for each record. */
    unsaved: () => ({
      records: [...unsaved.values()].map(({ record }) => record),
      journal,
      bases: new Map<string, Basis>(unsaved),
    }),
    /** Marks everything as saved, and forgets the tasks that are at rest. */
    markSaved: () => {
      journal = [];
      for (const [taskId, entry] of unsaved) {
        entry.endedRuns = endedRunsOf(entry.record);
        entry.isOwned = true;
        if (isAtRest(entry.record.snapshot)) entries.delete(taskId);
      }
      unsaved.clear();
    },
    /** Marks everything as unsaved: the file was lost. */
    startOver: () => {
      for (const [taskId, entry] of entries) {
        entry.isOwned = false;
        unsaved.set(taskId, entry);
      }
      journal = [...entries].flatMap(([taskId, { events }]) => events.map((event) => ({ taskId, event })));
    },
  };
};

/** A change that the file does not have yet. */
interface NumberedChange {
  taskId: string;
  change: number;
  /** The number of the task's first unsaved change. */
  first: number;
}

/** The distance between two numbers: exact up to 2^33 whole numbers, with room for a million between two of them. */
const STEP = 2 ** -20;

/**
 * Numbers the changes that the file does not have yet. Their numbers lie between the newest number known to be in the
 * file and the next whole one: every later change of any process has a higher number, so a reader who continues from
 * a number misses none.
 */
export const createBufferedChanges = () => {
  /** In the order of the newest changes. */
  const tasks = new Map<string, { change?: number; first?: number }>();
  let highest = 0;

  return {
    /** Notes a change of a task. It gets its number when somebody reads it. */
    add: (taskId: string) => {
      const { first } = tasks.get(taskId) ?? {};
      tasks.delete(taskId);
      tasks.set(taskId, first === undefined ? {} : { first });
    },
    remove: (taskId: string) => void tasks.delete(taskId),
    /** Forgets all changes: the file has them, under whole numbers. */
    clear: () => tasks.clear(),
    /** Returns each task's newest change, in order. `newest` is the newest number known to be in the file. */
    numbered: (newest: number): NumberedChange[] => {
      highest = Math.max(highest, newest);
      return [...tasks].map(([taskId, known]) => {
        if (known.change === undefined) highest += STEP;
        const change = known.change ?? highest;
        const first = known.first ?? change;
        tasks.set(taskId, { change, first });
        return { taskId, change, first };
      });
    },
    /** Returns the highest number that was given to a change here, or passed as `newest`. */
    highest: () => highest,
  };
};
