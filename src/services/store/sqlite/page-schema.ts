import { createBlockRows, FIRST_BLOCK, STAMP } from "./block-rows.ts";
import type { Database } from "./database.ts";

/**
 * - `tally` counts tasks by status, agent and directory, kept up to date by triggers. A row without tasks is deleted.
 *   `listed.tally` is the row that counts the task, so that one small number stands for three texts.
 * - `listed_newest` has what a page is sorted and filtered by; `listed_of_tally` the newest tasks of each row of `tally`.
 * - `search_block` has the texts that are searched, many tasks in a row, and what each is counted in, see
 *   `block-rows.ts`. Triggers set to NULL what is outdated. `stamp` is another number after each change.
 */
const tables = `
  DROP TRIGGER listed_new;
  DROP TRIGGER listed_changed;
  DROP TRIGGER listed_removed;
  DROP TABLE removal;
  DROP TABLE tally;

  CREATE TABLE tally (
    id INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    directory TEXT NOT NULL,
    tasks INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0,
    duration INTEGER NOT NULL DEFAULT 0,
    UNIQUE (status, agent, directory)
  ) STRICT;
  INSERT INTO tally (status, agent, directory, tasks, ended, duration)
    SELECT status, agent, directory, count(*), count(duration), ifnull(sum(duration), 0)
    FROM listed GROUP BY status, agent, directory;

  ALTER TABLE listed ADD COLUMN tally INTEGER NOT NULL DEFAULT 0;
  UPDATE listed SET tally = (SELECT tally.id FROM tally
    WHERE tally.status = listed.status AND tally.agent = listed.agent AND tally.directory = listed.directory);
  CREATE INDEX listed_newest ON listed (started_at, born, tally);
  CREATE INDEX listed_of_tally ON listed (tally, started_at);

  CREATE TABLE search_block (from_at INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, texts TEXT, tallies TEXT) STRICT;
  CREATE INDEX search_block_outdated ON search_block (from_at) WHERE tallies IS NULL;
  CREATE INDEX search_block_stamp ON search_block (from_at, stamp);
  INSERT INTO search_block VALUES (${FIRST_BLOCK}, 0, NULL, NULL);
`;

const counted = `
  UPDATE tally SET tasks = tasks + 1, ended = ended + (new.duration IS NOT NULL), duration = duration + ifnull(new.duration, 0)
    WHERE id = new.tally;`;

const uncounted = `
  UPDATE tally SET tasks = tasks - 1, ended = ended - (old.duration IS NOT NULL), duration = duration - ifnull(old.duration, 0)
    WHERE id = old.tally;
  DELETE FROM tally WHERE id = old.tally AND tasks = 0;`;

const blockOf = (row: "old" | "new") =>
  `from_at = (SELECT max(from_at) FROM search_block WHERE from_at <= ${row}.started_at)`;

const outdated = (row: "old" | "new") => `
  UPDATE search_block SET texts = NULL, tallies = NULL, stamp = ${STAMP} WHERE ${blockOf(row)} AND texts IS NOT NULL;`;

const outdatedTallies = `
  UPDATE search_block SET tallies = NULL, stamp = ${STAMP} WHERE ${blockOf("new")} AND tallies IS NOT NULL;`;

const triggers = `
  CREATE TRIGGER listed_new AFTER INSERT ON listed BEGIN ${counted} ${outdated("new")} END;

  CREATE TRIGGER listed_changed AFTER UPDATE OF tally, duration ON listed
  WHEN old.tally <> new.tally OR old.duration IS NOT new.duration
  BEGIN ${counted} ${uncounted} ${outdatedTallies} END;

  CREATE TRIGGER listed_removed AFTER DELETE ON listed BEGIN ${uncounted} ${outdated("old")} END;
`;

/** Adds what pages are found by, so that no process needs a copy of all summaries in memory. */
export const addPages = (database: Database): void => {
  for (const part of [tables, triggers]) database.exec(part);
  createBlockRows(database).update(Number.POSITIVE_INFINITY);
};
