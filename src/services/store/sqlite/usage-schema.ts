import type { Database } from "./database.ts";

/**
 * Lets what tasks used be added up without their records:
 * - `listed.tokens` and `.cost` are those of the task's own runs, the same as in `progress`, which is JSON.
 * - `tally.tokens` and `.cost` are their sums, kept up to date by triggers. A row of `tally` that counts no task any more
 *   is deleted by others, so it does not matter in which order the triggers fire.
 */
const columns = `
  ALTER TABLE listed ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE listed ADD COLUMN cost REAL NOT NULL DEFAULT 0;
  ALTER TABLE tally ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tally ADD COLUMN cost REAL NOT NULL DEFAULT 0;
  UPDATE listed SET
    tokens = ifnull(CAST(json_extract(progress, '$.tokens') AS INTEGER), 0),
    cost = ifnull(CAST(json_extract(progress, '$.cost') AS REAL), 0)
  FROM task WHERE task.id = listed.id AND json_valid(progress);
  UPDATE tally SET tokens = used.tokens, cost = used.cost
  FROM (SELECT tally, sum(tokens) AS tokens, sum(cost) AS cost FROM listed GROUP BY tally) AS used
  WHERE used.tally = tally.id;
`;

const added = "UPDATE tally SET tokens = tokens + new.tokens, cost = cost + new.cost WHERE id = new.tally;";
const subtracted = "UPDATE tally SET tokens = tokens - old.tokens, cost = cost - old.cost WHERE id = old.tally;";

const triggers = `
  CREATE TRIGGER usage_new AFTER INSERT ON listed WHEN new.tokens > 0 OR new.cost > 0 BEGIN ${added} END;

  CREATE TRIGGER usage_changed AFTER UPDATE OF tally, tokens, cost ON listed
  WHEN old.tally <> new.tally OR old.tokens <> new.tokens OR old.cost <> new.cost
  BEGIN ${subtracted} ${added} END;

  CREATE TRIGGER usage_removed AFTER DELETE ON listed WHEN old.tokens > 0 OR old.cost > 0 BEGIN ${subtracted} END;
`;

/** Adds what the usage of tasks is read and added up from. */
export const addUsage = (database: Database): void => {
  for (const part of [columns, triggers]) database.exec(part);
};
