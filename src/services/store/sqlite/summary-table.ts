import type { TaskStatus } from "../../../task.ts";
import type { TaskRecord } from "../records.ts";
import { noStats } from "../search/query.ts";
import { createSummaryIndex, type SummaryIndex } from "../search/summary-index.ts";
import { searchKey, summaryOf, type TaskSummary } from "../search/task-summary.ts";
import type { ChangedTask, TaskStats } from "../task-history.ts";
import type { Database, Value } from "./database.ts";
import { parsed, type RecordRow, type RowReader } from "./rows.ts";

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

/** As one text: 100,000 rows are read in half the time that it takes one by one. */
const LISTED = `
  SELECT json_group_array(
    json_array(born, id, started_at, ended_at, duration, status, agent, directory, batch, description)
  ) AS rows FROM listed`;
const RECORDS = "SELECT id, snapshot, progress FROM listed JOIN task USING (id)";

/** Reads and writes the table `listed`, and what is counted from it. Writing is to be done inside a transaction. */
export const createSummaryTables = (database: Database, rows: RowReader) => {
  const bump = database.prepare("UPDATE newest_change SET number = number + 1");
  const raise = database.prepare("UPDATE newest_change SET number = max(number, ?)");
  const insert = database.prepare(
    `INSERT INTO listed (born, change, ended_at, duration, status, id, started_at, agent, directory, batch, description)
     SELECT number, number, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM newest_change`,
  );
  const update = database.prepare(
    `UPDATE listed SET change = (SELECT number FROM newest_change), ended_at = ?, duration = ?, status = ? WHERE id = ?`,
  );
  const touch = database.prepare("UPDATE listed SET change = (SELECT number FROM newest_change) WHERE id = ?");
  const selectNewest = database.prepare<{ number: number }>("SELECT number FROM newest_change");
  const selectBorn = database.prepare<{ born: number }>("SELECT born FROM listed WHERE id = ?");
  const selectChanged = database.prepare<RecordRow & { change: number; born: number }>(
    `SELECT change, born, id, snapshot, progress FROM listed JOIN task USING (id) WHERE change > ? ORDER BY change LIMIT ?`,
  );
  const selectBatch = database.prepare<RecordRow>(`${RECORDS} WHERE listed.batch = ? ORDER BY listed.started_at, born`);
  const selectLive = database.prepare<RecordRow>(
    `${RECORDS} WHERE listed.ended_at IS NULL ORDER BY listed.started_at, born`,
  );
  const selectEnded = database.prepare<RecordRow>(
    `${RECORDS} WHERE listed.ended_at IS NOT NULL ORDER BY listed.ended_at DESC, born DESC LIMIT ? OFFSET ?`,
  );
  const selectTallies = database.prepare<TallyRow>("SELECT * FROM tally WHERE tasks > 0");
  const selectLongest = database.prepare<{ max: number | null }>(
    "SELECT max(duration) AS max FROM listed WHERE duration IS NOT NULL",
  );
  const selectShortest = database.prepare<{ min: number | null }>(
    "SELECT min(duration) AS min FROM listed WHERE duration IS NOT NULL",
  );
  const selectAll = database.prepare<{ rows: string }>(LISTED);
  const selectListed = database.prepare<{ rows: string }>(`${LISTED} WHERE change > ?`);
  const selectRemovals = database.prepare<{ seq: number; born: number; started_at: number }>(
    "SELECT seq, born, started_at FROM removal WHERE seq > ? ORDER BY seq",
  );
  const selectLastRemoval = database.prepare<{ seq: number | null }>("SELECT max(seq) AS seq FROM removal");

  const readable = (found: RecordRow[]): TaskRecord[] => found.flatMap((row) => rows.record(row) ?? []);
  const newest = (): number => selectNewest.get()?.number ?? 0;

  /** What many tasks have in common is held once. */
  const words = new Map<string, string>();
  const shared = (word: string): string => {
    const known = words.get(word);
    if (known === undefined) words.set(word, word);
    return known ?? word;
  };

  const listed = (row: SummaryRow): TaskSummary => {
    const [born, id, startedAt, endedAt, duration, status, agent, directory, batchId, description] = row;
    return {
      id,
      born,
      startedAt,
      status: shared(status) as TaskStatus,
      agent: shared(agent),
      directory: shared(directory),
      batchId: shared(batchId),
      text: searchKey(description),
      endedAt: endedAt ?? undefined,
      duration: duration ?? undefined,
    };
  };
  const listedIn = (result: { rows: string } | undefined): TaskSummary[] =>
    parsed<SummaryRow[]>(result?.rows ?? "[]").map(listed);

  let copy: { listing: SummaryIndex; change: number; removal: number } | undefined;

  /** Reads all. What changes meanwhile is read again by the next look. */
  const copied = (change: number, removal: number) => {
    copy = { listing: createSummaryIndex(listedIn(selectAll.get())), change, removal };
    return copy.listing;
  };

  /** As much as the table has, of which only what changed since the last time is read. */
  const current = (): SummaryIndex => {
    const change = newest();
    const removal = selectLastRemoval.get()?.seq ?? 0;
    if (!copy) return copied(change, removal);
    const removed = removal === copy.removal ? [] : selectRemovals.all(copy.removal);
    // Some that are needed are not kept any more.
    if (removal > copy.removal && removed[0]?.seq !== copy.removal + 1) return copied(change, removal);
    for (const { born, started_at } of removed) copy.listing.drop({ born, startedAt: started_at });
    if (change > copy.change) listedIn(selectListed.get(copy.change)).forEach(copy.listing.put);
    copy = { ...copy, change, removal: removed.at(-1)?.seq ?? removal };
    return copy.listing;
  };

  const changing = ({ endedAt, duration, status, id }: TaskSummary): Value[] => [
    endedAt ?? null,
    duration ?? null,
    status,
    id,
  ];

  return {
    insert: (record: TaskRecord) => {
      bump.run();
      const { directory, description } = record.task;
      const entry = summaryOf(record, 0);
      insert.run(...changing(entry), entry.startedAt, entry.agent, directory, entry.batchId, description);
    },
    update: (record: TaskRecord) => {
      bump.run();
      update.run(...changing(summaryOf(record, 0)));
    },
    /** The task changed in something that is not listed. */
    touch: (taskId: string) => {
      bump.run();
      touch.run(taskId);
    },
    /** Numbers are higher than `change` from now on. */
    raise: (change: number) => void raise.run(change),

    /** All tasks in the order of their launch. */
    current,
    tallies: (): TaskStats => {
      const { byStatus, duration: none } = noStats();
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
    batch: (batchId: string): TaskRecord[] => readable(selectBatch.all(batchId)),
    live: (): TaskRecord[] => readable(selectLive.all()),
    newestEnded: (count: number, skip = 0): TaskRecord[] => readable(selectEnded.all(count, skip)),
    newest,
    bornOf: (taskId: string): number | undefined => selectBorn.get(taskId)?.born,
    changedSince: (change: number, limit: number): ChangedTask[] => {
      const changed: ChangedTask[] = [];
      // Until there are so many that can be read: who gets fewer takes it that there are no more.
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
