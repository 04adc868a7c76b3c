import type { Database } from "./database.ts";

/**
 * - `listed` has a summary of each task, to find, sort and count tasks by; the rows of `task` are large.
 * - `change` is the number of a task's newest change, `born` that of its first. Numbers come from `newest_change`, under
 *   the write lock: a reader who sees a number can see all lower ones too. No number is used twice.
 * - `directory` is the one that the task was launched in.
 * - `duration` is that of the newest run, in milliseconds; NULL until the task ends, like `ended_at`.
 * - `removal` lists removed tasks, for processes that keep a copy of `listed`. Only the newest are kept.
 * - `tally` has the counts of tasks by status and agent, kept up to date by triggers.
 * - `request` has the commands for processes that supervise tasks. `answer` is the outcome, NULL until there is one.
 */
const tables = `
  CREATE TABLE newest_change (number INTEGER NOT NULL) STRICT;
  INSERT INTO newest_change VALUES (0);

  CREATE TABLE listed (
    born INTEGER PRIMARY KEY,
    change INTEGER NOT NULL UNIQUE,
    id TEXT NOT NULL UNIQUE REFERENCES task (id) ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    duration INTEGER,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL,
    batch TEXT NOT NULL,
    description TEXT NOT NULL
  ) STRICT;
  CREATE INDEX listed_of_batch ON listed (batch, started_at);
  CREATE INDEX listed_live ON listed (started_at) WHERE ended_at IS NULL;
  CREATE INDEX listed_ended ON listed (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX listed_duration ON listed (duration) WHERE duration IS NOT NULL;

  CREATE TABLE removal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    born INTEGER NOT NULL,
    started_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE tally (
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    PRIMARY KEY (status, agent)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE request (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    request TEXT NOT NULL,
    at INTEGER NOT NULL,
    is_taken INTEGER NOT NULL DEFAULT 0,
    answer TEXT
  ) STRICT;
`;

const counted = `
  INSERT INTO tally VALUES (new.status, new.agent, 1, new.duration IS NOT NULL, ifnull(new.duration, 0))
    ON CONFLICT (status, agent) DO UPDATE SET
      tasks = tasks + 1, ended = ended + excluded.ended, duration = duration + excluded.duration;`;

const uncounted = `
  UPDATE tally SET tasks = tasks - 1, ended = ended - (old.duration IS NOT NULL), duration = duration - ifnull(old.duration, 0)
    WHERE status = old.status AND agent = old.agent;`;

/** The number of removals that are kept. A process that is further behind must read `listed` again as a whole. */
const REMOVALS = 1_000;

const triggers = `
  CREATE TRIGGER listed_new AFTER INSERT ON listed BEGIN ${counted} END;

  CREATE TRIGGER listed_changed AFTER UPDATE OF status, duration ON listed
  WHEN old.status <> new.status OR old.duration IS NOT new.duration
  BEGIN ${uncounted} ${counted} END;

  CREATE TRIGGER listed_removed AFTER DELETE ON listed BEGIN
    ${uncounted}
    INSERT INTO removal (born, started_at) VALUES (old.born, old.started_at);
    DELETE FROM removal WHERE seq <= (SELECT max(seq) FROM removal) - ${REMOVALS};
  END;
`;

/** Fills the tables from the tasks in the file, in the order of insertion. Damaged rows are reported when they are read. */
const fill = `
  INSERT INTO listed
  SELECT
    seq, seq, id, started_at,
    iif(status IN ('running', 'resumed'), NULL, ended_at),
    iif(status IN ('running', 'resumed'), NULL, ended_at - json_extract(snapshot, '$.context.run.startedAt')),
    status, agent,
    json_extract(snapshot, '$.context.facts.directory'), batch, json_extract(snapshot, '$.context.facts.description')
  FROM task WHERE json_valid(snapshot) ORDER BY seq;
  UPDATE newest_change SET number = (SELECT ifnull(max(change), 0) FROM listed);
`;

/** Adds the tables for searching all tasks, following their changes, and passing commands between processes. */
export const addHistory = (database: Database): void => {
  for (const part of [tables, triggers, fill]) database.exec(part);
};
