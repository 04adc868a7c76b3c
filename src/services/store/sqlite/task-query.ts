import { TASK_STATUSES } from "../../../field-values.ts";
import { addUp, hasEnded, type TaskStatus, type Usage } from "../../../task.ts";
import type { PageFilter, TaskHistory, TaskRecord, TaskStats } from "../store.ts";
import type { Database, Value } from "./driver.ts";

/** The fields by which a task is found, sorted and counted: some 200 bytes, where a record may have 10,000. */
export interface TaskSummary {
  id: string;
  /** The number of the change that created the task. Sorts tasks of the same millisecond: later ones have higher numbers. */
  createdChange: number;
  /** Epoch milliseconds of its launch. */
  startedAt: number;
  status: TaskStatus;
  agent: string;
  directory: string;
  parentSessionID: string;
  batchId: string;
  /** The description in the form in which it is searched, see `searchKey`. */
  text: string;
  /** Epoch milliseconds. Undefined until the task ends. */
  endedAt?: number | undefined;
  /** Milliseconds of the newest run. Undefined until the task ends. */
  duration?: number | undefined;
  /** Of its own runs. */
  usage: Usage;
}

/**
 * Normalizes a text for searching: lower case in every alphabet, so that É matches é, and composed characters, so that a
 * letter with an accent matches whether it is written as one character or two. É does not match e. No character is
 * special; the end of a line and a NUL become a space, and half a surrogate pair U+FFFD, as in the file.
 */
export const searchKey = (text: string): string =>
  text
    .toWellFormed()
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[\n\0]/g, " ");

/** Summarizes a record. */
export const summaryOf = ({ task, snapshot }: TaskRecord, createdChange: number): TaskSummary => {
  const { completedAt, run } = snapshot.context;
  const endedAt = hasEnded(task) ? completedAt : undefined;
  return {
    id: task.sessionID,
    createdChange,
    startedAt: Date.parse(task.startedAt),
    status: task.status,
    agent: task.agent,
    directory: task.directory,
    parentSessionID: task.parentSessionID,
    batchId: task.batchId,
    text: searchKey(task.description),
    endedAt,
    duration: endedAt === undefined ? undefined : endedAt - run.startedAt,
    usage: { tokens: task.progress.tokens, cost: task.progress.cost },
  };
};

/** The fields by which tasks are sorted in the order of their launch. */
type SortKey = Pick<TaskSummary, "startedAt" | "createdChange">;

/** Compares two tasks by the order of their launch. */
export const byLaunch = (a: SortKey, b: SortKey): number =>
  a.startedAt - b.startedAt || a.createdChange - b.createdChange;

/** A task that was found, and what it is sorted by. */
export interface FoundTask extends SortKey {
  id: string;
  /** Epoch milliseconds. Only where ended tasks were asked for. */
  endedAt?: number | undefined;
}

/** The tasks of one page, and how many tasks match in all. */
interface Match {
  found: FoundTask[];
  total: number;
}

/** Counts of tasks that can be added and subtracted. */
export interface TaskCounts {
  /** How many tasks have each status and agent. */
  tasks: { status: TaskStatus; agent: string; count: number }[];
  /** How many have ended, and milliseconds of their newest runs. `max` and `min` are undefined when none has. */
  ended: number;
  duration: { sum: number; max: number | undefined; min: number | undefined };
  usage: Usage;
}

/** The questions of `TaskHistory` that summaries can answer, with keys in the place of records. */
export interface TaskQuery {
  page(filter: PageFilter): Match;
  counts(): TaskCounts;
  batch(batchId: string): FoundTask[];
  live(): FoundTask[];
  newestEnded(count: number, skip: number): FoundTask[];
  idsStartingWith(beginning: string, limit: number): string[];
}

/** Queries over all tasks in a file. */
export interface FileQuery extends Omit<TaskQuery, "counts"> {
  /** Counts all tasks. The longest and the shortest run are those of tasks other than `without`. */
  counts(without?: readonly string[]): TaskCounts;
  /** Returns the summaries of those tasks that the file has, in any order. */
  summaries(taskIds: readonly string[]): TaskSummary[];
}

/** The stats that counts add up to. */
export const statsOf = ({ tasks, ended, duration: { sum, max = 0, min = 0 }, usage }: TaskCounts): TaskStats => {
  const byStatus = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as TaskStats["byStatus"];
  // A map, since an agent may be called `constructor`.
  const byAgent = new Map<string, number>();
  for (const { status, agent, count } of tasks) {
    byStatus[status] += count;
    byAgent.set(agent, (byAgent.get(agent) ?? 0) + count);
  }
  return {
    total: tasks.reduce((total, { count }) => total + count, 0),
    byStatus,
    byAgent: Object.fromEntries([...byAgent].filter(([, count]) => count > 0)),
    duration: ended === 0 ? { avg: 0, max: 0, min: 0 } : { avg: sum / ended, max, min },
    // A sum of floating-point numbers from which others were subtracted may end a little below zero.
    usage: { tokens: usage.tokens, cost: Math.max(0, addUp([usage]).cost) },
  };
};

/** The questions of `TaskHistory` that queries and a way to read single records can answer. */
export type RecordQuery = Pick<TaskHistory, "page" | "stats" | "batch" | "live" | "newestEnded" | "idsStartingWith">;

/** Answers with records, read by `get`, in the place of keys. A task without a readable record is left out. */
export const createRecordQuery = (query: TaskQuery, get: (taskId: string) => TaskRecord | undefined): RecordQuery => {
  const records = (found: FoundTask[]): TaskRecord[] => found.flatMap(({ id }) => get(id) ?? []);
  return {
    page: (filter) => {
      const { found, total } = query.page(filter);
      return { records: records(found), total };
    },
    stats: () => statsOf(query.counts()),
    batch: (batchId) => records(query.batch(batchId)),
    live: () => records(query.live()),
    newestEnded: (count, skip = 0) => records(query.newestEnded(count, skip)),
    idsStartingWith: query.idsStartingWith,
  };
};

interface KeyRow {
  id: string;
  born: number;
  started_at: number;
}

interface TallyRow {
  id: number;
  tasks: number;
}

/**
 * Tasks of a status, agent or directory up to which all of them are read and sorted, in some milliseconds. Of more, the newest
 * of all tasks are read until the page is full.
 */
const FEW = 4_000;

/** One condition of a filter, with what takes the place of its `?`. */
type Condition = readonly [sql: string, value: Value];

/** Chooses what is read: `INDEXED BY` makes SQLite fail, not slow, where an index would not do. */
const sourceOf = ({ parentSessionID, batchId }: PageFilter, isRare: boolean): string => {
  if (parentSessionID !== undefined) return "task CROSS JOIN listed USING (id)";
  if (batchId !== undefined) return "listed INDEXED BY listed_of_batch";
  return `listed INDEXED BY ${isRare ? "listed_of_tally" : "listed_newest"}`;
};

/**
 * Finds pages of the table `listed`, each of one moment, whatever other processes write. A search compares every text that the
 * other conditions leave, in an index that has them in the order of launch.
 * @param few see `FEW`; only tests give another
 */
export const createPageQuery = (database: Database, few = FEW) => {
  const selectTallies = database.prepare<TallyRow>(
    `SELECT id, tasks FROM tally
     WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR directory = ?3)`,
  );

  return (filter: PageFilter): Match =>
    database.snapshot(() => {
      const { status = null, agent = null, directory = null, parentSessionID, batchId, offset, limit } = filter;
      const text = searchKey(filter.search ?? "");
      const tallies = selectTallies.all(status, agent, directory);
      const counted = tallies.reduce((tasks, tally) => tasks + tally.tasks, 0);
      if (counted === 0) return { found: [], total: 0 };

      const isCounted = [status, agent, directory].some((given) => given !== null);
      const compared: Condition[] = [];
      if (parentSessionID !== undefined) compared.push(["parent = ?", parentSessionID]);
      if (batchId !== undefined) compared.push(["batch = ?", batchId]);
      if (text !== "") compared.push(["instr(text, ?) > 0", text]);
      const ofTallies: Condition = [
        "tally IN (SELECT value FROM json_each(?))",
        JSON.stringify(tallies.map(({ id }) => id)),
      ];
      // Texts first: few match, and only of those is it looked up what they are counted in.
      const conditions = isCounted ? [...compared, ofTallies] : compared;
      const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
      const values = conditions.map(([, value]) => value);
      const source = sourceOf(filter, isCounted && counted <= few);

      const found = database
        .prepare<KeyRow>(
          `SELECT id, born, listed.started_at FROM ${source} ${where}
           ORDER BY listed.started_at DESC, born DESC LIMIT ? OFFSET ?`,
        )
        .all(...values, limit, offset)
        .map(({ id, born, started_at }): FoundTask => ({ id, createdChange: born, startedAt: started_at }));
      if (compared.length === 0) return { found, total: counted };
      // The last page shows how many there are, which saves a second look at all texts.
      if (found.length < limit && (found.length > 0 || offset === 0)) return { found, total: offset + found.length };
      const count = database.prepare<{ tasks: number }>(`SELECT count(*) AS tasks FROM ${source} ${where}`);
      return { found, total: count.get(...values)?.tasks ?? 0 };
    });
};
