import { DEFAULT_DATABASE } from "../ownership.ts";
import { type Database, DatabaseError } from "./database.ts";
import { addHistory } from "./history-schema.ts";
import type { JournalMode } from "./journal-mode.ts";
import { addPages } from "./page-schema.ts";
import { renameChartTerms } from "./rename-chart-terms.ts";
import { addGoesOn, addLanes, addRetries, addSlots } from "./slot-schema.ts";
import { storeTextsOnce } from "./store-texts-once.ts";
import { addUsage } from "./usage-schema.ts";

/** One step from a version to the next. */
export type Migration = (database: Database) => void;

/**
 * - `owner` is NULL for a task at rest. An id that is not in the table `owner` is that of an ended process.
 * - `directory` is that of the last owner: later processes there may take over.
 * - `origin` is the input of the task's machine, `{ facts, run }`, from which the journal replays. NULL when the journal
 *   does not go back to the launch, since an earlier file was damaged.
 * - `seq` is the order of insertion: of tasks launched in the same millisecond, of events, of prompts.
 * - Times are epoch milliseconds.
 */
const first = `
  CREATE TABLE owner (
    id TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    machine TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    directory TEXT NOT NULL,
    beat_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE task (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent TEXT NOT NULL,
    batch TEXT NOT NULL,
    agent TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    owner TEXT,
    directory TEXT NOT NULL,
    progress TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    origin TEXT
  ) STRICT;
  CREATE INDEX task_of_parent ON task (parent, started_at);
  CREATE INDEX task_by_status ON task (status, started_at);
  CREATE INDEX task_of_owner ON task (owner) WHERE owner IS NOT NULL;
  CREATE INDEX task_at_rest ON task (directory, ended_at) WHERE owner IS NULL;

  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL REFERENCES task (id) ON DELETE CASCADE,
    event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_of_task ON journal (task);

  CREATE TABLE prompt (
    seq INTEGER PRIMARY KEY,
    parent TEXT NOT NULL,
    owner TEXT NOT NULL,
    directory TEXT NOT NULL,
    prompt TEXT NOT NULL
  ) STRICT;

  CREATE TABLE launch (
    message TEXT PRIMARY KEY,
    parent TEXT NOT NULL,
    owner TEXT NOT NULL,
    directory TEXT NOT NULL,
    at INTEGER NOT NULL,
    fork INTEGER NOT NULL
  ) STRICT;
`;

/** - `lead` is the parent task, whose session or one below it launched this one; NULL when there is none. */
const addParentTask = `
  ALTER TABLE task ADD COLUMN lead TEXT;
  UPDATE task SET lead = json_extract(snapshot, '$.context.facts.parentTaskId') WHERE json_valid(snapshot);
  CREATE INDEX task_of_lead ON task (lead, started_at) WHERE lead IS NOT NULL;
`;

/**
 * - `database` names the OpenCode database that has the sessions. Rows from before it was stored get the default one,
 *   which most had.
 */
const addDatabase = ["task", "prompt", "launch"]
  .map((table) => `ALTER TABLE ${table} ADD COLUMN database TEXT NOT NULL DEFAULT '${DEFAULT_DATABASE}';`)
  .join("\n");

/** Drops what nothing reads: `listed` has agents and batches. */
const dropUnread = `
  DROP INDEX task_by_status;
  ALTER TABLE task DROP COLUMN agent;
  ALTER TABLE task DROP COLUMN batch;
`;

/** - `damaged` keeps rows that were not valid JSON, as they were before the task's owner rewrote them. */
const keepDamaged = `
  CREATE TABLE damaged (
    seq INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    progress TEXT NOT NULL
  ) STRICT;
  ${["snapshot", "progress"]
    .map(
      (column) => `
  CREATE TRIGGER keep_damaged_${column} BEFORE UPDATE OF ${column} ON task WHEN NOT json_valid(old.${column}) BEGIN
    INSERT INTO damaged (task, snapshot, progress) VALUES (old.id, old.snapshot, old.progress);
  END;`,
    )
    .join("")}
`;

/**
 * Lets tasks be listed without their snapshots:
 * - `run_began_at` and `resumes` are those of the newest run.
 * - A task whose snapshot is damaged gets what the other columns say, and 0.
 */
const addListColumns = `
  ALTER TABLE listed ADD COLUMN run_began_at INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE listed ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE listed ADD COLUMN is_forked INTEGER NOT NULL DEFAULT 0;
  UPDATE listed SET run_began_at = ifnull(ended_at - duration, started_at);
  UPDATE listed SET
    run_began_at = ifnull(CAST(json_extract(snapshot, '$.context.run.startedAt') AS INTEGER), run_began_at),
    resumes = ifnull(CAST(json_extract(snapshot, '$.context.run.index') AS INTEGER), 0),
    is_forked = ifnull(CAST(json_extract(snapshot, '$.context.facts.isForked') AS INTEGER), 0)
  FROM task WHERE task.id = listed.id AND json_valid(snapshot);
`;

/** Puts the chart's region `steering` into what earlier versions stored: they gave no instructions. */
const addSteering = `
  UPDATE task SET snapshot = json_set(snapshot, '$.value.steering', 'none')
  WHERE iif(json_valid(snapshot), json_type(snapshot, '$.value') = 'object', 0);
`;

/**
 * From here on the result of a run may be stored as its outcome, see `stored-snapshot.ts`, which earlier versions could not
 * read. Results that they stored whole stay as they are.
 */
const shortenRunResults: Migration = () => undefined;

/** - `incomplete`: of a completed task, why its result is not known to be the whole answer; NULL where it is, or was not noted. */
const addIncomplete = "ALTER TABLE listed ADD COLUMN incomplete TEXT;";

/**
 * All migrations, oldest first. A released one is never changed: when tables, or the JSON in them, take a new shape, a new
 * migration is added.
 */
export const migrations: readonly Migration[] = [
  (database) => database.exec(first),
  addHistory,
  (database) => database.exec(addParentTask),
  (database) => database.exec(addDatabase),
  (database) => database.exec(dropUnread),
  (database) => database.exec(keepDamaged),
  renameChartTerms,
  storeTextsOnce,
  (database) => database.exec(addListColumns),
  addPages,
  addSlots,
  (database) => database.exec(addSteering),
  addUsage,
  (database) => database.exec(addRetries),
  shortenRunResults,
  (database) => database.exec(addGoesOn),
  addLanes,
  (database) => database.exec(addIncomplete),
];

/** Returns the version of the file: of its tables, and of the snapshots in them. 0 for a new file. */
export const versionOf = (database: Database): number =>
  database.prepare<{ user_version: number }>("PRAGMA user_version").get()?.user_version ?? 0;

/** Throws `DatabaseError` of kind `newer` when the file has a version that this plugin does not know. */
export const refuseNewer = (database: Database, known: number = migrations.length): void => {
  const version = versionOf(database);
  if (version <= known) return;
  throw new DatabaseError("newer", `it has version ${version}, and this plugin knows versions up to ${known}`);
};

/**
 * Migrates a file to the newest version, each step in its own transaction, and switches it to a write-ahead log
 * where it is to have one. Processes may migrate a file concurrently: each step is done by one of them. Throws
 * `DatabaseError` for a newer file before anything is written.
 */
export const migrate = (
  database: Database,
  steps: readonly Migration[] = migrations,
  journal: JournalMode = "log",
): void => {
  refuseNewer(database, steps.length);
  if (journal === "log") database.prepare("PRAGMA journal_mode = WAL").get();
  for (const [version, step] of steps.entries()) {
    if (versionOf(database) > version) continue;
    database.transaction(() => {
      // Another process may have done it since.
      if (versionOf(database) > version) return;
      step(database);
      database.exec(`PRAGMA user_version = ${version + 1}`);
    });
  }
  refuseNewer(database, steps.length);
};
