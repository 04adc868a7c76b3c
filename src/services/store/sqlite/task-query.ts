import { TASK_STATUSES } from "../../../field-values.ts";
import { addUp, addUpWakes, type TaskStatus, type Usage, type WakeCosts } from "../../../task.ts";
import type { PageFilter, TaskHistory, TaskRecord, TaskStats } from "../store.ts";
import type { Database, Value } from "./driver.ts";
import { searchKey, type TaskSummary, type WakeColumns, wakeCostsOf } from "./listed-table.ts";

/** Compares two tasks by the order of their launch. */
export const byLaunch = (a: FoundTask, b: FoundTask): number =>
  a.startedAt - b.startedAt || a.createdChange - b.createdChange;

/** A task that was found, and what it is sorted by. `endedAt` only where ended tasks were asked for. */
export type FoundTask = Pick<TaskSummary, "id" | "startedAt" | "createdChange"> & Partial<Pick<TaskSummary, "endedAt">>;

/** The tasks of one page, and how many tasks match in all. */
interface Match {
  found: FoundTask[];
  total: number;
}

/** Counts of tasks that can be added and subtracted. */
export interface StoredCounts {
  /** How many tasks have each status and agent. */
  tasks: { status: TaskStatus; agent: string; count: number }[];
  /** How many have ended, and milliseconds of their newest runs. `max` and `min` are undefined when none has. */
  ended: number;
  duration: { sum: number; max: number | undefined; min: number | undefined };
  usage: Usage;
  wakeCosts: WakeCosts;
}

/** The questions of `TaskHistory` that summaries can answer, with keys in the place of records. */
export interface TaskQuery {
  page(filter: PageFilter): Match;
  counts(): StoredCounts;
  batch(batchId: string): FoundTask[];
  live(): FoundTask[];
  newestEnded(count: number, skip: number): FoundTask[];
  idsStartingWith(beginning: string, limit: number): string[];
}

/** The stats that counts add up to. */
export const statsOf = (counts: StoredCounts): TaskStats => {
  const { tasks, ended, usage, wakeCosts } = counts;
  const { sum, max = 0, min = 0 } = counts.duration;
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
    wakeCosts: { ...wakeCosts, cost: Math.max(0, addUpWakes([wakeCosts]).cost) },
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
  const selectTallies = database.prepare<{ id: number; tasks: number }>(
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
        .prepare<FoundTask>(
          `SELECT id, born AS createdChange, listed.started_at AS startedAt FROM ${source} ${where}
           ORDER BY listed.started_at DESC, born DESC LIMIT ? OFFSET ?`,
        )
        .all(...values, limit, offset);
      if (compared.length === 0) return { found, total: counted };
      // The last page shows how many there are, which saves a second look at all texts.
      if (found.length < limit && (found.length > 0 || offset === 0)) return { found, total: offset + found.length };
      const count = database.prepare<{ tasks: number }>(`SELECT count(*) AS tasks FROM ${source} ${where}`);
      return { found, total: count.get(...values)?.tasks ?? 0 };
    });
};

interface CountRow extends Usage, WakeColumns {
  status: TaskStatus;
  agent: string;
  count: number;
  ended: number;
  duration: number;
}

const FOUND = "id, born AS createdChange, started_at AS startedAt, ended_at AS endedAt";

/** Creates queries over all tasks in a file. */
export const createFileQuery = (database: Database) => {
  const selectBatch = database.prepare<FoundTask>(
    `SELECT ${FOUND} FROM listed WHERE batch = ? ORDER BY started_at, born`,
  );
  const selectLive = database.prepare<FoundTask>(
    `SELECT ${FOUND} FROM listed WHERE ended_at IS NULL ORDER BY started_at, born`,
  );
  const selectEnded = database.prepare<FoundTask>(
    `SELECT ${FOUND} FROM listed WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, born DESC LIMIT ? OFFSET ?`,
  );
  const selectIds = database.prepare<{ id: string }>(
    "SELECT id FROM listed WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id LIMIT ?2",
  );
  const selectSummaries = database.prepare<TaskSummary>(
    `SELECT id, born AS createdChange, listed.started_at AS startedAt, listed.ended_at AS endedAt, duration,
       listed.status, agent, listed.directory, parent AS parentSessionID, batch AS batchId, text, tokens, cost,
       wakes, wake_tokens AS wakeTokens, wake_cached AS wakeCachedTokens, wake_cost AS wakeCost
     FROM listed JOIN task USING (id) WHERE id IN (SELECT value FROM json_each(?))`,
  );
  const selectCounts = database.prepare<CountRow>(
    `SELECT status, agent, sum(tasks) AS count, sum(ended) AS ended, sum(duration) AS duration,
       sum(tokens) AS tokens, sum(cost) AS cost, sum(wakes) AS wakes, sum(wake_tokens) AS wakeTokens,
       sum(wake_cached) AS wakeCachedTokens, sum(wake_cost) AS wakeCost
     FROM tally GROUP BY status, agent`,
  );
  const [selectLongest, selectShortest] = ["DESC", "ASC"].map((order) =>
    database.prepare<{ duration: number }>(
      `SELECT duration FROM listed WHERE duration IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?))
       ORDER BY duration ${order} LIMIT 1`,
    ),
  );

  return {
    page: createPageQuery(database),
    /** Counts all tasks. The longest and the shortest run are those of tasks other than `without`. */
    counts: (without: readonly string[] = []) => {
      const rows = selectCounts.all();
      const sum = (of: "ended" | "duration") => rows.reduce((all, row) => all + row[of], 0);
      const ids = JSON.stringify(without);
      return {
        tasks: rows,
        ended: sum("ended"),
        duration: {
          sum: sum("duration"),
          max: selectLongest?.get(ids)?.duration,
          min: selectShortest?.get(ids)?.duration,
        },
        usage: addUp(rows),
        wakeCosts: addUpWakes(rows.map(wakeCostsOf)),
      };
    },
    batch: (batchId) => selectBatch.all(batchId),
    live: () => selectLive.all(),
    newestEnded: (count, skip) => selectEnded.all(count, skip),
    idsStartingWith: (beginning, limit) => selectIds.all(beginning, limit).map(({ id }) => id),
    /** Returns the summaries of those tasks that the file has, in any order. */
    summaries: (taskIds: readonly string[]) =>
      taskIds.length === 0 ? [] : selectSummaries.all(JSON.stringify(taskIds)),
  } satisfies TaskQuery & Record<string, unknown>;
};
