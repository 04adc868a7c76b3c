import type { Database } from "./database.ts";

/**
 * - `listed` has for each task as little of it as it takes to choose and count it; the rows of `task` are large.
 * - `change` is the number of a task's newest change, `born` that of its first. Numbers come from `newest_change`, under
 *   the write lock: whoever reads one has all lower ones before it. They are never given out again.
 * - `directory` is the one that the task was launched in.
 * - `duration` is that of the newest run, in milliseconds; NULL, as `ended_at` is, while the task has not ended.
 * - `removal` tells those who keep a copy of `listed` what to drop from it. Its newest rows do.
 * - `tally` counts tasks, so that nobody has to.
 * - A `request` waits for the process that supervises a task. `answer` is NULL until there is one.
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

/** How many removals a reader may be behind before it has to read everything anew. */
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

/** The tasks that the file has already, in the order in which they came. A row that is not JSON shows when it is read. */
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

/** What it takes to look through all tasks, to follow their changes, and to hand requests from process to process. */
export const addHistory = (database: Database): void => {
  for (const part of [tables, triggers, fill]) database.exec(part);
};
