import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { type Migration, migrate, migrations, versionOf } from "../../../src/services/store/sqlite/migrations.ts";
import { createSqliteStore } from "../../../src/services/store/sqlite/sqlite-store.ts";
import { ownerOf } from "./owners.ts";
import { temporaryFolder } from "./places.ts";
import { noticePrompt, START, tell } from "./story.ts";

const openDatabase = await loadSqlite();

const opened = (path: string) => {
  const database = openDatabase(path);
  onTestFinished(database.close);
  return database;
};

const create: Migration = (database) => database.exec("CREATE TABLE word (id TEXT)");
const fill: Migration = (database) => database.exec("INSERT INTO word VALUES ('first')");
const more: Migration = (database) => database.exec("INSERT INTO word SELECT id || ', more' FROM word");

const words = (path: string) =>
  opened(path)
    .prepare<{ id: string }>("SELECT id FROM word ORDER BY rowid")
    .all()
    .map(({ id }) => id);

test("a new file gets every step, in order and once", () => {
  const path = join(temporaryFolder(), "some.db");
  for (let round = 0; round < 2; round += 1) migrate(opened(path), [create, fill, more]);
  expect(words(path)).toEqual(["first", "first, more"]);
});

test("an older file gets the steps that it lacks, and keeps what it has", () => {
  const path = join(temporaryFolder(), "some.db");
  migrate(opened(path), [create, fill]);
  migrate(opened(path), [create, fill, more]);
  expect(words(path)).toEqual(["first", "first, more"]);
  expect(versionOf(opened(path))).toBe(3);
});

test("a process that comes in between another's looking and doing does the steps, and they are not done again", () => {
  const path = join(temporaryFolder(), "some.db");
  const [slow, quick] = [opened(path), opened(path)];
  const steps = [create, fill, more];
  let overtaken = false;
  migrate(
    {
      ...slow,
      transaction: (work) => {
        if (!overtaken) {
          overtaken = true;
          migrate(quick, steps);
        }
        return slow.transaction(work);
      },
    },
    steps,
  );
  expect(overtaken).toBe(true);
  expect(words(path)).toEqual(["first", "first, more"]);
});

test("a step that fails leaves the file as it was before it", () => {
  const path = join(temporaryFolder(), "some.db");
  const broken: Migration = (database) => {
    database.exec("DELETE FROM word");
    database.exec("nonsense");
  };
  expect(() => migrate(opened(path), [create, fill, broken])).toThrow();
  expect(words(path)).toEqual(["first"]);
  expect(versionOf(opened(path))).toBe(2);
});

test("a newer file is refused in words, before anything is written", () => {
  const path = join(temporaryFolder(), "some.db");
  opened(path).exec("PRAGMA user_version = 7");
  expect(() => migrate(opened(path), [create])).toThrow("it has version 7, and this plugin knows versions up to 1");
  const mode = opened(path).prepare<{ journal_mode: string }>("PRAGMA journal_mode").get();
  expect(mode?.journal_mode).toBe("delete");
});

test("tasks of a file that did not say so are listed below the task that they belong to", () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 2));
  const add = old.prepare(
    `INSERT INTO task (id, parent, batch, agent, status, started_at, directory, progress, snapshot)
     VALUES (?, 'p', 'b', 'general', 'completed', 1, 'd', '{}', ?)`,
  );
  add.run("ses_inner", JSON.stringify({ context: { facts: { parentTaskId: "ses_outer" } } }));
  add.run("ses_outer", JSON.stringify({ context: { facts: {} } }));
  add.run("ses_damaged", "{");
  migrate(opened(path), migrations);
  expect(opened(path).prepare("SELECT id, lead FROM task ORDER BY seq").all()).toEqual([
    { id: "ses_inner", lead: "ses_outer" },
    { id: "ses_outer", lead: null },
    { id: "ses_damaged", lead: null },
  ]);
});

test("the questions that are asked most are answered from an index", () => {
  const database = opened(join(temporaryFolder(), "some.db"));
  migrate(database, migrations);
  const planOf = (sql: string) =>
    database
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail)
      .join("; ");
  const list = planOf("SELECT snapshot FROM task WHERE parent = 'p' ORDER BY started_at, seq");
  expect(list).toContain("task_of_parent");
  expect(list).not.toContain("TEMP B-TREE");
  const below = planOf("SELECT snapshot FROM task WHERE lead = 't' ORDER BY started_at, seq");
  expect(below).toContain("task_of_lead");
  expect(below).not.toContain("TEMP B-TREE");
  expect(planOf("SELECT id FROM task WHERE owner = 'me'")).toContain("task_of_owner");
  expect(planOf("SELECT id FROM task WHERE owner IS NOT NULL AND directory = 'd'")).toContain("task_of_owner");
  expect(planOf("SELECT seq FROM task WHERE owner IS NULL AND ended_at < 1")).toContain("task_at_rest");
  expect(planOf("SELECT event FROM journal WHERE task = 't' ORDER BY seq")).toContain("journal_of_task");
  const records = "SELECT snapshot FROM listed JOIN task USING (id)";
  for (const [rest, index] of [
    ["WHERE change > 1 ORDER BY change LIMIT 9", "sqlite_autoindex_listed_1"],
    ["WHERE listed.batch = 'b' ORDER BY listed.started_at, born", "listed_of_batch"],
    ["WHERE listed.ended_at IS NULL ORDER BY listed.started_at, born", "listed_live"],
    ["WHERE listed.ended_at IS NOT NULL ORDER BY listed.ended_at DESC, born DESC LIMIT 9", "listed_ended"],
  ] as const) {
    const plan = planOf(`${records} ${rest}`);
    expect(plan).toContain(index);
    expect(plan).not.toContain("TEMP B-TREE");
  }
  expect(planOf("SELECT max(duration) FROM listed WHERE duration IS NOT NULL")).toContain("listed_duration");
});

test("a file of the version that noted host names opens, and its tasks go on where OpenCode has its usual database", () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 3));
  const [live, rested] = [tell("ses_live"), tell("ses_rested")];
  live.launch();
  rested.whole();
  const addTask = old.prepare(
    `INSERT INTO task (id, parent, batch, agent, status, started_at, ended_at, owner, directory, progress, snapshot, origin)
     VALUES (?, 'ses_parent', 'batch', 'general', ?, ${START}, ?, ?, '/project', ?, ?, ?)`,
  );
  for (const [{ record, events, id }, owner] of [
    [live, "gone"],
    [rested, null],
  ] as const) {
    const { task, snapshot } = record();
    const { facts, run, completedAt = null } = snapshot.context;
    const texts = [task.progress, snapshot, { facts, run }].map((value) => JSON.stringify(value));
    addTask.run(id, task.status, completedAt, owner, ...texts);
    const addEvent = old.prepare("INSERT INTO journal (task, event) VALUES (?, ?)");
    for (const event of events()) addEvent.run(id, JSON.stringify(event));
    old
      .prepare(
        `INSERT INTO listed VALUES ((SELECT seq FROM task WHERE id = ?1), (SELECT seq FROM task WHERE id = ?1), ?1,
         ${START}, ?2, NULL, ?3, 'general', '/project', 'batch', 'find it')`,
      )
      .run(id, completedAt, task.status);
  }
  old.exec(`
    UPDATE newest_change SET number = 2;
    INSERT INTO owner VALUES ('gone', ${process.pid}, 'here', 5, '/project', ${START});
    INSERT INTO prompt (parent, owner, directory, prompt)
      VALUES ('ses_parent', 'gone', '/project', '${JSON.stringify(noticePrompt("msg_1"))}');
    INSERT INTO launch VALUES ('msg_2', 'ses_parent', 'gone', '/project', ${START}, 1);
  `);

  const enter = (id: string, database: string) => {
    const file = opened(path);
    migrate(file);
    const machine = "boot 1, pid:[1]";
    return createSqliteStore({ database: file, owner: ownerOf(id, { database, machine }), now: () => START });
  };
  const store = enter("next", "opencode.db");
  expect(store.list({})).toEqual([live, rested].map(({ record }) => record().task));
  expect(store.journal("ses_rested")).toEqual(rested.events());
  expect(store.stats()).toMatchObject({ total: 2, byAgent: { general: 2 } });
  expect(store.batch("batch")).toHaveLength(2);

  const nothing = { tasks: [], prompts: [], launches: [] };
  expect(store.adopt(START, () => true)).toEqual(nothing);
  expect(enter("stranger", "other.db").adopt(START + LEASE_MS + 1, () => true)).toEqual(nothing);
  const estate = store.adopt(START + LEASE_MS + 1, () => true);
  expect(estate.tasks).toEqual([live.record()]);
  expect(estate.prompts).toEqual([{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }]);
  expect(estate.launches.map(({ messageID }) => messageID)).toEqual(["msg_2"]);
  for (const chapter of [live.answer(), live.tell()]) expect(store.commit(chapter)).toEqual([]);
  expect(store.journal("ses_live")).toEqual(live.events());
});

test("what nobody reads of a task is not stored beside it", () => {
  const database = opened(join(temporaryFolder(), "some.db"));
  migrate(database);
  const names = (sql: string) =>
    database
      .prepare<{ name: string }>(sql)
      .all()
      .map(({ name }) => name);
  const columns = names("SELECT name FROM pragma_table_info('task')");
  expect(columns).toContain("snapshot");
  expect(columns.filter((name) => name === "agent" || name === "batch")).toEqual([]);
  expect(names("SELECT name FROM sqlite_master WHERE type = 'index'")).not.toContain("task_by_status");
});
