import { type Database, DatabaseError } from "./driver.ts";
import { SLOT_SCHEMA } from "./slot-schema.ts";

/** The version of the tables, and of the charts' states and events in them. A file of a higher one is refused. */
export const SCHEMA_VERSION = 1;

/**
 * - `owner`: the processes that supervise tasks. Times, here and elsewhere, are epoch milliseconds.
 * - `prompt` and `launch`: what a process was about to do, for another one to finish after its death.
 * - `pid`, `machine` and `started_at` of a launch are those of the process whose OpenCode was asked for the session, whoever has the
 *   launch since.
 * - `request`: commands for the processes that supervise tasks. `answer` is the outcome, NULL until there is one.
 * - `directory` is that of the last owner, `database` names the OpenCode database that has the sessions: only later processes
 *   with both the same may take over.
 */
const OWNERSHIP = `
  CREATE TABLE owner (
    id TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    machine TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    directory TEXT NOT NULL,
    beat_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE prompt (
    seq INTEGER PRIMARY KEY,
    parent TEXT NOT NULL,
    owner TEXT NOT NULL,
    directory TEXT NOT NULL,
    database TEXT NOT NULL,
    prompt TEXT NOT NULL
  ) STRICT;

  CREATE TABLE launch (
    message TEXT PRIMARY KEY,
    parent TEXT NOT NULL,
    owner TEXT NOT NULL,
    directory TEXT NOT NULL,
    database TEXT NOT NULL,
    at INTEGER NOT NULL,
    fork INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    machine TEXT NOT NULL,
    started_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE request (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    request TEXT NOT NULL,
    at INTEGER NOT NULL,
    is_taken INTEGER NOT NULL DEFAULT 0,
    answer TEXT
  ) STRICT;
`;

/** The columns of the table `owner`, named as in `KnownOwner`. */
export const OWNER_COLUMNS =
  "owner.id, pid, machine, owner.started_at AS startedAt, owner.directory, beat_at AS heartbeatAt";

/**
 * - `seq` is the order of insertion: of tasks launched in the same millisecond, of events.
 * - `lead` is the parent task, whose session or one below it launched this one; NULL when there is none.
 * - `owner` is NULL for a task at rest. An id that is not in the table `owner` is that of an ended process.
 * - `origin` is the first run, from which the journal replays, and how the task was launched. NULL when the journal does not
 *   go back to the launch, since an earlier file was damaged.
 * - `text` has the long strings of a task's snapshot, origin and journal, deflated, see `text-table.ts`.
 * - `damaged` keeps rows that were not valid JSON, as they were before the task's owner rewrote them.
 */
const TASKS = `
  CREATE TABLE task (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent TEXT NOT NULL,
    lead TEXT,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    owner TEXT,
    directory TEXT NOT NULL,
    database TEXT NOT NULL,
    progress TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    origin TEXT
  ) STRICT;
  CREATE INDEX task_of_parent ON task (parent, started_at);
  CREATE INDEX task_of_lead ON task (lead, started_at) WHERE lead IS NOT NULL;
  CREATE INDEX task_of_owner ON task (owner) WHERE owner IS NOT NULL;
  CREATE INDEX task_at_rest ON task (directory, ended_at) WHERE owner IS NULL;

  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_of_task ON journal (task);

  CREATE TABLE text (
    seq INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    text BLOB NOT NULL
  ) STRICT;
  CREATE INDEX text_of_task ON text (task);

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
 * - `listed` has a summary of each task, to find, sort, list and count tasks by; the rows of `task` are large.
 * - `change` is the number of a task's newest change, `born` that of its first. Numbers come from `newest_change`, under
 *   the write lock: a reader who sees a number can see all lower ones too. No number is used twice.
 * - `directory` is the one that the task was launched in.
 * - `duration` is that of the newest run, in milliseconds; NULL until the task ends, like `ended_at`. `run_began_at` and
 *   `resumes` are those of the newest run, too.
 * - `tokens` and `cost` are those of the task's own runs, the same as in `task.progress`, which is JSON. `wakes` and the columns
 *   after it are what it cost to wake the agent that launched it.
 * - `incomplete`: of a completed task, why its result is not known to be the whole answer; NULL where it is, or was not noted.
 * - `missed` counts the further instructions that the newest run ended without its agent having seen.
 * - `tally` counts tasks and what they used by status, agent and directory, kept up to date by triggers. A row without tasks
 *   is deleted. `listed.tally` is the row that counts the task, so that one small number stands for three texts.
 * - `text` is the description in the form in which it is searched, see `searchKey`. `listed_newest` has what pages are sorted,
 *   filtered and searched by.
 */
const LISTED = `
  CREATE TABLE newest_change (number INTEGER NOT NULL) STRICT;
  INSERT INTO newest_change VALUES (0);

  CREATE TABLE listed (
    born INTEGER PRIMARY KEY,
    change INTEGER NOT NULL UNIQUE,
    id TEXT NOT NULL UNIQUE REFERENCES task (id) ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    duration INTEGER,
    run_began_at INTEGER NOT NULL,
    resumes INTEGER NOT NULL,
    is_forked INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    wakes INTEGER NOT NULL,
    wake_tokens INTEGER NOT NULL,
    wake_cached INTEGER NOT NULL,
    wake_cost REAL NOT NULL,
    incomplete TEXT,
    missed INTEGER NOT NULL,
    tally INTEGER NOT NULL,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL,
    batch TEXT NOT NULL,
    description TEXT NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX listed_newest ON listed (started_at, born, tally, text);
  CREATE INDEX listed_of_tally ON listed (tally, started_at);
  CREATE INDEX listed_of_batch ON listed (batch, started_at);
  CREATE INDEX listed_live ON listed (started_at) WHERE ended_at IS NULL;
  CREATE INDEX listed_ended ON listed (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX listed_duration ON listed (duration) WHERE duration IS NOT NULL;

  CREATE TABLE tally (
    id INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL,
    tasks INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0,
    duration INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    cost REAL NOT NULL DEFAULT 0,
    wakes INTEGER NOT NULL DEFAULT 0,
    wake_tokens INTEGER NOT NULL DEFAULT 0,
    wake_cached INTEGER NOT NULL DEFAULT 0,
    wake_cost REAL NOT NULL DEFAULT 0,
    UNIQUE (status, agent, directory)
  ) STRICT;
`;

/** What tasks are summed up by, of each row of `tally`. */
const SUMMED = ["tokens", "cost", "wakes", "wake_tokens", "wake_cached", "wake_cost"];

const changed = (sign: "+" | "-", row: "old" | "new"): string =>
  SUMMED.map((column) => `${column} = ${column} ${sign} ${row}.${column}`).join(", ");

const COUNT = `
  UPDATE tally SET tasks = tasks + 1, ended = ended + (new.duration IS NOT NULL), duration = duration + ifnull(new.duration, 0),
      ${changed("+", "new")}
    WHERE id = new.tally;`;

const UNCOUNT = `
  UPDATE tally SET tasks = tasks - 1, ended = ended - (old.duration IS NOT NULL), duration = duration - ifnull(old.duration, 0),
      ${changed("-", "old")}
    WHERE id = old.tally;
  DELETE FROM tally WHERE id = old.tally AND tasks = 0;`;

const TRIGGERS = `
  CREATE TRIGGER listed_new AFTER INSERT ON listed BEGIN ${COUNT} END;

  CREATE TRIGGER listed_changed AFTER UPDATE OF tally, duration, ${SUMMED.join(", ")} ON listed
  WHEN old.tally <> new.tally OR old.duration IS NOT new.duration
    OR ${SUMMED.map((column) => `old.${column} <> new.${column}`).join(" OR ")}
  BEGIN ${COUNT} ${UNCOUNT} END;

  CREATE TRIGGER listed_removed AFTER DELETE ON listed BEGIN ${UNCOUNT} END;
`;

const SCHEMA = [OWNERSHIP, TASKS, LISTED, TRIGGERS, SLOT_SCHEMA].join("");

/**
 * Names this form of the tables in the file's `application_id`. Builds from before the first release gave the same versions to
 * tables of other forms: whatever differs in the text above, the number does as well.
 */
export const FORM = [...SCHEMA].reduce((hash, character) => (Math.imul(hash, 31) + character.charCodeAt(0)) | 0, 1);

const pragma = (database: Database, name: "user_version" | "application_id"): number =>
  database.prepare<Record<string, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0;

/** Returns the version of the file: of its tables, and of the snapshots in them. 0 for a new file. */
export const versionOf = (database: Database): number => pragma(database, "user_version");

/** Throws `DatabaseError` of kind `newer` when the file has a version that this plugin does not know. */
export const refuseNewer = (database: Database): void => {
  const version = versionOf(database);
  if (version <= SCHEMA_VERSION) return;
  throw new DatabaseError("newer", `it has version ${version}, and this plugin knows versions up to ${SCHEMA_VERSION}`);
};

/** True when a build from before the first release wrote the file: it named no form of its tables, or another one. */
export const isUnreleased = (database: Database): boolean => {
  const version = versionOf(database);
  const form = pragma(database, "application_id");
  return version > 0 && (form === 0 || (version === SCHEMA_VERSION && form !== FORM));
};

/** Throws `DatabaseError` of kind `unreleased` or `newer` where this version does not know the file's tables. */
export const refuseOthers = (database: Database): void => {
  if (isUnreleased(database)) {
    const message =
      "a build from before the first release wrote it: OpenCode sets it aside when it starts with this plugin";
    throw new DatabaseError("unreleased", message);
  }
  refuseNewer(database);
};

/**
 * How changes get into a file: by a write-ahead log, so that many may read while one writes; or by a rollback journal, where
 * the file system has no memory that processes could share, as network and shared folders have none.
 */
export type JournalMode = "log" | "rollback";

/**
 * Creates the tables in a new file, and switches it to a write-ahead log where it is to have one. Of processes that do so
 * concurrently, one creates them. Throws as `refuseOthers` does, before anything is written.
 */
export const ensureSchema = (database: Database, journal: JournalMode = "log"): void => {
  refuseOthers(database);
  if (journal === "log") database.prepare("PRAGMA journal_mode = WAL").get();
  if (versionOf(database) > 0) return;
  database.transaction(() => {
    // Another process may have done it since.
    if (versionOf(database) > 0) return;
    database.exec(`${SCHEMA} PRAGMA application_id = ${FORM}; PRAGMA user_version = ${SCHEMA_VERSION};`);
  });
  refuseOthers(database);
};
