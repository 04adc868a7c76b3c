import { loadSqlite } from "../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../src/services/store/sqlite/sqlite-store.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { START, scriptTask } from "../test/services/store/scripted-task.ts";

/** The id of the task that all others are copies of. */
const TEMPLATE = "ses_template";

/** Milliseconds between two launches. */
const APART = 60_000;

/** Tasks of a batch. */
export const TASKS_OF_A_BATCH = 5;

/** Columns of a copy that are not those of the template, as SQL. `i` is its number, from 1 on. */
const COLUMNS: Readonly<Record<string, string>> = {
  seq: "NULL",
  born: "i",
  change: "i",
  id: "'ses_' || i",
  parent: "'ses_parent_' || (i / 20)",
  batch: `'batch_' || (i / ${TASKS_OF_A_BATCH})`,
  status: "iif(i % 50, status, 'error')",
  agent: "'agent ' || (i % 4)",
  directory: "'/home/somebody/projects/' || iif(i < 2000, 'old', i % 10)",
  started_at: `${START} + i * ${APART}`,
  ended_at: `${START} + i * ${APART} + 1000`,
  snapshot: `replace(snapshot, '${TEMPLATE}', 'ses_' || i)`,
  origin: `replace(origin, '${TEMPLATE}', 'ses_' || i)`,
  text: "'look at the ' || iif(i % 5, 'parser', 'übersicht') || ', part ' || i",
  description: "'Look at the ' || iif(i % 5, 'parser', 'Übersicht') || ', part ' || i",
};

/**
 * Fills a new file with ended tasks in a few seconds for 100,000. Only what tasks are found by varies; a record says the same
 * of all, and is short.
 */
export const fillInBulk = async (path: string, tasks: number): Promise<void> => {
  const database = loadSqlite()(path);
  ensureSchema(database);
  const story = scriptTask(TEMPLATE, { prompt: "Look.", description: "template" });
  createSqliteStore({ database, owner: ownerOf("filler"), now: () => START }).commit(story.whole());

  const copy = (table: string) => {
    const names = database
      .prepare<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => name);
    const tally = `(SELECT tally.id FROM tally WHERE tally.status = ${COLUMNS.status?.replace("status,", "template.status,")}
      AND tally.agent = ${COLUMNS.agent} AND tally.directory = ${COLUMNS.directory})`;
    const values = names.map((name) => (name === "tally" ? tally : (COLUMNS[name] ?? name)));
    database.exec(`
      WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < ${tasks})
      INSERT INTO ${table} (${names.join(", ")})
      SELECT ${values.join(", ")} FROM number, (SELECT * FROM ${table} WHERE id = '${TEMPLATE}') AS template`);
  };
  database.transaction(() => {
    database.exec("UPDATE listed SET born = 0, change = 0");
    for (const agent of [0, 1, 2, 3]) {
      for (const project of ["old", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
        database.exec(`INSERT INTO tally (status, agent, directory)
          SELECT value, 'agent ${agent}', '/home/somebody/projects/${project}' FROM json_each('["completed", "error"]')`);
      }
    }
    for (const table of ["task", "listed"]) copy(table);
    database.exec(`DELETE FROM task WHERE id = '${TEMPLATE}'; DELETE FROM tally WHERE tasks = 0;
      UPDATE newest_change SET number = ${tasks}`);
  });
  database.close();
};
