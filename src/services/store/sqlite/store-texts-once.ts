import type { Database } from "./database.ts";
import { pack } from "./packed-json.ts";
import { createTextTable, NEXT_TEXT, type TextWriter } from "./text-table.ts";

/** Rows that are in memory at once. */
const PAGE_SIZE = 200;

/**
 * - `text` has the long strings of a task's snapshot, origin and journal, see `text-table.ts`. `length`, in characters, finds a
 *   text; it is NULL in the other rows of a text that takes several.
 * - `task.texts` lists the rows of the texts in the snapshot, as JSON: a task that was resumed has others too.
 * - `journal` has the task's number now, which takes a tenth of its id. Its own numbers are in order without
 *   AUTOINCREMENT too, which wrote to another table for each event.
 */
const tables = `
  CREATE TABLE text (
    seq INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    length INTEGER,
    json TEXT NOT NULL
  ) STRICT;
  CREATE INDEX text_of_task ON text (task, length);
  ALTER TABLE task ADD COLUMN texts TEXT NOT NULL DEFAULT '[]';

  DROP INDEX journal_of_task;
  ALTER TABLE journal RENAME TO journal_by_id;
  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    event TEXT NOT NULL
  ) STRICT;
`;

/** Created last: an index is smaller, and sooner done, when its table is full. */
const finish = `
  DROP TABLE journal_by_id;
  CREATE INDEX journal_of_task ON journal (task);
`;

/** Calls `visit` with each row that a query returns. It must have a place for the last row's `seq`, and sort by it. */
const forEachRow = <Row extends { seq: number }>(database: Database, sql: string, visit: (row: Row) => void): void => {
  const select = database.prepare<Row>(`${sql} LIMIT ${PAGE_SIZE}`);
  for (let rows = select.all(0); rows.length > 0; rows = select.all(rows.at(-1)?.seq ?? 0)) rows.forEach(visit);
};

/** Undefined when it is not JSON: such a row stays as it is. */
const parsed = (json: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(json) };
  } catch {
    return undefined;
  }
};

/** False for JSON that is the same when it is packed: most events are short. */
const mayChange = (json: string): boolean => json.length > 200 || json.includes("$");

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Leaves out the fields of an origin that the snapshot's context has too. */
const withoutCopies = (origin: unknown, snapshot: unknown): unknown => {
  if (!isRecord(origin) || !isRecord(snapshot) || !isRecord(snapshot.context)) return origin;
  const { context } = snapshot;
  return Object.fromEntries(
    Object.entries(origin).filter(([key, field]) => JSON.stringify(field) !== JSON.stringify(context[key])),
  );
};

/**
 * Moves the long strings of all tasks into a table of their own, and leaves out of origins what snapshots have too: a prompt
 * was stored four times, a result three times. The file does not become smaller at once, but the pages that this
 * frees are used before it grows again.
 */
export const storeTextsOnce = (database: Database): void => {
  database.exec(tables);
  const texts = createTextTable(database);
  const selectNext = database.prepare<{ nextText: number }>(`SELECT ${NEXT_TEXT}`);
  const writerFor = (task: number): TextWriter => {
    const writer = texts.writerFor({
      id: String(task),
      seq: task,
      nextText: selectNext.get()?.nextText ?? 1,
      isNew: false,
    });
    // Each task is written once or twice here, far apart: nothing of it is to be remembered.
    texts.forget();
    return writer;
  };
  const packed = (value: unknown, writer: TextWriter): string => JSON.stringify(pack(value, writer.store));

  const updateSnapshot = database.prepare("UPDATE task SET snapshot = ?, texts = ? WHERE seq = ?");
  const updateOrigin = database.prepare("UPDATE task SET origin = ? WHERE seq = ?");
  forEachRow<{ seq: number; snapshot: string; origin: string | null }>(
    database,
    "SELECT seq, snapshot, origin FROM task WHERE seq > ? ORDER BY seq",
    (row) => {
      const snapshot = parsed(row.snapshot);
      const origin = row.origin === null ? undefined : parsed(row.origin);
      const writer = writerFor(row.seq);
      if (snapshot) updateSnapshot.run(packed(snapshot.value, writer), writer.rows(), row.seq);
      if (origin) updateOrigin.run(packed(withoutCopies(origin.value, snapshot?.value), writer), row.seq);
    },
  );

  const insertEvent = database.prepare("INSERT INTO journal (seq, task, event) VALUES (?, ?, ?)");
  forEachRow<{ seq: number; task: number; event: string }>(
    database,
    `SELECT journal_by_id.seq, task.seq AS task, event FROM journal_by_id JOIN task ON task.id = journal_by_id.task
     WHERE journal_by_id.seq > ? ORDER BY journal_by_id.seq`,
    ({ seq, task, event }) => {
      const value = mayChange(event) ? parsed(event) : undefined;
      insertEvent.run(seq, task, value ? packed(value.value, writerFor(task)) : event);
    },
  );
  database.exec(finish);
};
