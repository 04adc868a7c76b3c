import type { TaskEvent, TaskInput } from "../../../machines/task/events.ts";
import { isAtRest } from "../../../machines/task/machine.ts";
import type { Progress, Task } from "../../../task.ts";
import { type Change, type JournalEntry, matches, type TaskFilter, type TaskRecord } from "../records.ts";

interface Entry {
  record: TaskRecord;
  /** What the events here follow; null when the first of them are not here. */
  origin: TaskInput | null;
  events: TaskEvent[];
  isUnsaved: boolean;
}

/** Which of the tasks in hand are meant: those that the file does not have as they are, or those that go on as well. */
export type Which = "unsaved" | "any";

/** The tasks that a process has in hand: those that go on, and those whose end the file does not have yet. */
export interface BufferedTasks {
  commit(change: Pick<Change, "records" | "journal">): void;
  /** Returns the progress that is not part of an unsaved record: it has to be written by itself. */
  noteProgress(counted: ReadonlyMap<string, Progress>): Map<string, Progress>;
  /** A task that is this process's from now on, and is in the file as it is. */
  hold(record: TaskRecord): void;
  /** A held task to which nothing happened; one that is unsaved stays. */
  release(taskId: string): void;
  /** A task that is gone, or another process's. */
  drop(taskId: string): void;
  /** The file does not have the record any more, though it has the journal. Returns what is in hand of it. */
  rewrite(taskId: string): TaskRecord | undefined;

  get(taskId: string, which: Which): TaskRecord | undefined;
  /** The events that the file does not have, of one task or of all; `any`: all that are in hand of that task. */
  journal(taskId: string, which: Which): TaskEvent[];
  /** In the order of their launch. */
  list(filter: TaskFilter, which: Which): Task[];

  unsaved(): { records: TaskRecord[]; journal: JournalEntry[]; origins: Map<string, TaskInput | null> };
  /** The file has everything now. */
  saved(): void;
  /** The file has nothing any more. */
  startOver(): void;
}

/** Tasks by the order of their launch; those of the same millisecond stay as they are. */
export const inOrder = (tasks: Task[]): Task[] => tasks.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));

export const createBufferedTasks = (): BufferedTasks => {
  const entries = new Map<string, Entry>();
  let journal: JournalEntry[] = [];

  const isMeant = (entry: Entry | undefined, which: Which): entry is Entry =>
    entry !== undefined && (entry.isUnsaved || which === "any");

  return {
    commit: ({ records, journal: more }) => {
      for (const record of records) {
        const { facts, run } = record.snapshot.context;
        const { origin, events } = entries.get(record.task.sessionID) ?? { origin: { facts, run }, events: [] };
        entries.set(record.task.sessionID, { record, origin, events, isUnsaved: true });
      }
      for (const entry of more) entries.get(entry.taskId)?.events.push(entry.event);
      journal.push(...more);
    },
    noteProgress: (counted) => {
      for (const [taskId, progress] of counted) {
        const entry = entries.get(taskId);
        if (entry) entry.record = { ...entry.record, task: { ...entry.record.task, progress } };
      }
      return new Map([...counted].filter(([taskId]) => !entries.get(taskId)?.isUnsaved));
    },
    hold: (record) => {
      if (entries.has(record.task.sessionID)) return;
      entries.set(record.task.sessionID, { record, origin: null, events: [], isUnsaved: false });
    },
    release: (taskId) => {
      if (!entries.get(taskId)?.isUnsaved) entries.delete(taskId);
    },
    drop: (taskId) => {
      entries.delete(taskId);
      journal = journal.filter((entry) => entry.taskId !== taskId);
    },

    rewrite: (taskId) => {
      const entry = entries.get(taskId);
      if (entry) entry.isUnsaved = true;
      return entry?.record;
    },

    get: (taskId, which) => {
      const entry = entries.get(taskId);
      return isMeant(entry, which) ? entry.record : undefined;
    },
    journal: (taskId, which) =>
      which === "any"
        ? (entries.get(taskId)?.events ?? [])
        : journal.filter((entry) => entry.taskId === taskId).map(({ event }) => event),
    list: (filter, which) =>
      inOrder(
        [...entries.values()]
          .filter((entry) => isMeant(entry, which) && matches(entry.record.task, filter))
          .map(({ record }) => record.task),
      ),

    unsaved: () => {
      const unsaved = [...entries].filter(([, { isUnsaved }]) => isUnsaved);
      return {
        records: unsaved.map(([, { record }]) => record),
        journal,
        origins: new Map(unsaved.map(([taskId, { origin }]) => [taskId, origin])),
      };
    },
    saved: () => {
      journal = [];
      for (const [taskId, entry] of entries) {
        if (entry.isUnsaved && isAtRest(entry.record.snapshot)) entries.delete(taskId);
        entry.isUnsaved = false;
      }
    },
    startOver: () => {
      for (const entry of entries.values()) entry.isUnsaved = true;
      journal = [...entries].flatMap(([taskId, { events }]) => events.map((event) => ({ taskId, event })));
    },
  };
};
