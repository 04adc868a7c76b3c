import type { TaskStatus } from "../../../task.ts";
import { noStats } from "../search/query.ts";
import { createSummaryIndex, type SummaryIndex } from "../search/summary-index.ts";
import { searchKey, summaryOf, type TaskSummary } from "../search/task-summary.ts";
import type { ChangedTask, TaskRecord, TaskStats } from "../store.ts";
import type { Database, Value } from "./database.ts";
import { parseStored, RECORD_COLUMNS, type RecordRow, type RowReader } from "./rows.ts";

type SummaryRow = [
  born: number,
  id: string,
  startedAt: number,
  endedAt: number | null,
  duration: number | null,
  status: TaskStatus,
  agent: string,
  directory: string,
  batchId: string,
  description: string,
];

interface TallyRow {
  status: TaskStatus;
  agent: string;
  tasks: number;
  ended: number;
  duration: number;
}

/** Selects all rows as one text: for 100,000 rows, twice as fast as reading them one by one. */
const SELECT_SUMMARIES = `
  SELECT json_group_array(
    json_array(born, id, started_at, ended_at, duration, status, agent, directory, batch, description)
  ) AS rows FROM listed`;
const SELECT_RECORDS = `SELECT ${RECORD_COLUMNS} FROM listed JOIN task USING (id)`;

/**
 * Reads and writes the table `listed`, which has a summary of each task, and reads the tables that triggers derive from
 * it. Writing needs a transaction.
 */
export const createSummaryTables = (database: Database, rows: RowReader) => {
  const bump = database.prepare("UPDATE newest_change SET number = number + 1");
  const raise = database.prepare("UPDATE newest_change SET number = max(number, ?)");
  const insert = database.prepare(
    `INSERT INTO listed (born, change, ended_at, duration, status, run_began_at, resumes, id,
       started_at, agent, directory, batch, description, is_forked)
     SELECT number, number, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM newest_change`,
  );
  const update = database.prepare(
    `UPDATE listed SET change = (SELECT number FROM newest_change), ended_at = ?, duration = ?, status = ?,
       run_began_at = ?, resumes = ? WHERE id = ?`,
  );
  const touch = database.prepare("UPDATE listed SET change = (SELECT number FROM newest_change) WHERE id = ?");
  const selectLatestChange = database.prepare<{ number: number }>("SELECT number FROM newest_change");
  const selectCreatedChange = database.prepare<{ born: number }>("SELECT born FROM listed WHERE id = ?");
  const selectChanged = database.prepare<RecordRow & { change: number; born: number }>(
    `SELECT change, born, ${RECORD_COLUMNS} FROM listed JOIN task USING (id) WHERE change > ? ORDER BY change LIMIT ?`,
  );
  const selectBatch = database.prepare<RecordRow>(
    `${SELECT_RECORDS} WHERE listed.batch = ? ORDER BY listed.started_at, born`,
  );
  const selectLive = database.prepare<RecordRow>(
    `${SELECT_RECORDS} WHERE listed.ended_at IS NULL ORDER BY listed.started_at, born`,
  );
  const selectEnded = database.prepare<RecordRow>(
    `${SELECT_RECORDS} WHERE listed.ended_at IS NOT NULL ORDER BY listed.ended_at DESC, born DESC LIMIT ? OFFSET ?`,
  );
  const selectTallies = database.prepare<TallyRow>("SELECT * FROM tally WHERE tasks > 0");
  const selectLongest = database.prepare<{ max: number | null }>(
    "SELECT max(duration) AS max FROM listed WHERE duration IS NOT NULL",
  );
  const selectShortest = database.prepare<{ min: number | null }>(
    "SELECT min(duration) AS min FROM listed WHERE duration IS NOT NULL",
  );
  const selectAll = database.prepare<{ rows: string }>(SELECT_SUMMARIES);
  const selectNewer = database.prepare<{ rows: string }>(`${SELECT_SUMMARIES} WHERE change > ?`);
  const selectRemovals = database.prepare<{ seq: number; born: number; started_at: number }>(
    "SELECT seq, born, started_at FROM removal WHERE seq > ? ORDER BY seq",
  );
  const selectLastRemoval = database.prepare<{ seq: number | null }>("SELECT max(seq) AS seq FROM removal");

  const records = (found: RecordRow[]): TaskRecord[] => found.flatMap((row) => rows.record(row) ?? []);
  const latestChange = (): number => selectLatestChange.get()?.number ?? 0;

  /** Strings that many tasks share, so that each is in memory once. */
  const strings = new Map<string, string>();
  const intern = (text: string): string => {
    const known = strings.get(text);
    if (known === undefined) strings.set(text, text);
    return known ?? text;
  };

  const toSummary = (row: SummaryRow): TaskSummary => {
    const [createdChange, id, startedAt, endedAt, duration, status, agent, directory, batchId, description] = row;
    return {
      id,
      createdChange,
      startedAt,
      status: intern(status) as TaskStatus,
      agent: intern(agent),
      directory: intern(directory),
      batchId: intern(batchId),
      text: searchKey(description),
      endedAt: endedAt ?? undefined,
      duration: duration ?? undefined,
    };
  };
  const summariesIn = (result: { rows: string } | undefined): TaskSummary[] =>
    parseStored<SummaryRow[]>(result?.rows ?? "[]").map(toSummary);

  /** The summaries in memory, and the newest change and removal that they include. */
  let copy: { index: SummaryIndex; change: number; removal: number } | undefined;

  /** Reads everything. Changes of other processes in the meantime are read by the next call of `index`. */
  const readCopy = (change: number, removal: number): SummaryIndex => {
    copy = { index: createSummaryIndex(summariesIn(selectAll.get())), change, removal };
    return copy.index;
  };

  /** Returns the summaries of all tasks. Reads only what changed since the last call. */
  const index = (): SummaryIndex => {
    const change = latestChange();
    const removal = selectLastRemoval.get()?.seq ?? 0;
    if (!copy) return readCopy(change, removal);
    const removed = removal === copy.removal ? [] : selectRemovals.all(copy.removal);
    // Only the newest removals are kept: some that the copy lacks are gone.
    if (removal > copy.removal && removed[0]?.seq !== copy.removal + 1) return readCopy(change, removal);
    for (const { born, started_at } of removed) copy.index.remove({ createdChange: born, startedAt: started_at });
    if (change > copy.change) summariesIn(selectNewer.get(copy.change)).forEach(copy.index.upsert);
    copy = { ...copy, change, removal: removed.at(-1)?.seq ?? removal };
    return copy.index;
  };

  const changing = ({ endedAt, duration, status, id }: TaskSummary, { snapshot }: TaskRecord): Value[] => [
    endedAt ?? null,
    duration ?? null,
    status,
    snapshot.context.run.startedAt,
    snapshot.context.run.index,
    id,
  ];

  return {
    insert: (record: TaskRecord) => {
      bump.run();
      const { agent, directory, batchId, description, isForked } = record.task;
      const summary = summaryOf(record, 0);
      const launched = [summary.startedAt, agent, directory, batchId, description, isForked ? 1 : 0];
      insert.run(...changing(summary, record), ...launched);
    },
    update: (record: TaskRecord) => {
      bump.run();
      update.run(...changing(summaryOf(record, 0), record));
    },
    /** Gives a change number to a task whose summary stays the same. */
    touch: (taskId: string) => {
      bump.run();
      touch.run(taskId);
    },
    /** Makes all later changes get higher numbers than `change`. */
    raiseChangeNumber: (change: number) => void raise.run(change),

    index,
    stats: (): TaskStats => {
      const { byStatus, duration: none } = noStats();
      // A map, since an agent may be called `constructor`.
      const byAgent = new Map<string, number>();
      let [total, ended, sum] = [0, 0, 0];
      for (const row of selectTallies.all()) {
        byStatus[row.status] += row.tasks;
        byAgent.set(row.agent, (byAgent.get(row.agent) ?? 0) + row.tasks);
        total += row.tasks;
        ended += row.ended;
        sum += row.duration;
      }
      const [max, min] = [selectLongest.get()?.max ?? 0, selectShortest.get()?.min ?? 0];
      const duration = ended === 0 ? none : { avg: sum / ended, max, min };
      return { total, byStatus, byAgent: Object.fromEntries(byAgent), duration };
    },
    batch: (batchId: string): TaskRecord[] => records(selectBatch.all(batchId)),
    live: (): TaskRecord[] => records(selectLive.all()),
    newestEnded: (count: number, skip = 0): TaskRecord[] => records(selectEnded.all(count, skip)),
    latestChange,
    createdChangeOf: (taskId: string): number | undefined => selectCreatedChange.get(taskId)?.born,
    changedSince: (change: number, limit: number): ChangedTask[] => {
      const changed: ChangedTask[] = [];
      // Damaged rows are left out. Reads on until `limit` is reached: a caller takes fewer to mean that there are no more.
      for (let since: number | undefined = change; since !== undefined && changed.length < limit; ) {
        const wanted: number = limit - changed.length;
        const found = selectChanged.all(since, wanted);
        for (const row of found) {
          const record = rows.record(row);
          if (record) changed.push({ change: row.change, createdChange: row.born, record });
        }
        since = found.length < wanted ? undefined : found.at(-1)?.change;
      }
      return changed;
    },
  };
};
