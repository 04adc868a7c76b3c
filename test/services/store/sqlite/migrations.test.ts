import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isCompatible, lifecyclePath, type StoredSnapshot, statusOf } from "../../../../src/machines/task/machine.ts";
import { type Journal, replay } from "../../../../src/machines/task/replay.ts";
import { slotOf } from "../../../../src/machines/task/slot.ts";
import { differences } from "../../../../src/services/replay/differences.ts";
import { serialize } from "../../../../src/services/replay/export-file.ts";
import { LEASE_MS } from "../../../../src/services/store/ownership.ts";
import type { Database, Value } from "../../../../src/services/store/sqlite/database.ts";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../../../src/services/store/sqlite/journal-reader.ts";
import { type Migration, migrate, migrations, versionOf } from "../../../../src/services/store/sqlite/migrations.ts";
import { createSqliteStore } from "../../../../src/services/store/sqlite/sqlite-store.ts";
import { entryOf } from "../../../../src/task.ts";
import { temporaryFolder } from "../folder-and-log.ts";
import { ownerOf } from "../owners.ts";
import { noticePrompt, START, scriptTask } from "../scripted-task.ts";
import { wholeTasks } from "../whole-tasks.ts";
import versionSix from "./version-6.json" with { type: "json" };
import versionSeven from "./version-7.json" with { type: "json" };

const openDatabase = loadSqlite();

const given = <T>(value: T | null | undefined): T => {
  if (value === null || value === undefined) throw new Error("it is missing");
  return value;
};

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
  expect(planOf("SELECT born FROM task JOIN listed USING (id) WHERE parent = 'p'")).toContain("task_of_parent");
  const below = planOf("SELECT snapshot FROM task WHERE lead = 't' ORDER BY started_at, seq");
  expect(below).toContain("task_of_lead");
  expect(below).not.toContain("TEMP B-TREE");
  expect(planOf("SELECT id FROM task WHERE owner = 'me'")).toContain("task_of_owner");
  expect(planOf("SELECT id FROM task WHERE owner IS NOT NULL AND directory = 'd'")).toContain("task_of_owner");
  expect(planOf("SELECT seq FROM task WHERE owner IS NULL AND ended_at < 1")).toContain("task_at_rest");
  expect(planOf("SELECT event FROM journal WHERE task = 't' ORDER BY seq")).toContain("journal_of_task");
  expect(planOf("SELECT seq FROM text WHERE task = 1 AND length = 5")).toContain("text_of_task");
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
  for (const [rest, index] of [
    ["ORDER BY started_at DESC, born DESC LIMIT 9 OFFSET 99", "listed_newest"],
    ["WHERE tally IN (1, 2) ORDER BY started_at DESC, born DESC LIMIT 9 OFFSET 99", "listed_newest"],
    ["WHERE tally = 1 ORDER BY started_at DESC, born DESC LIMIT 9", "listed_of_tally"],
    ["WHERE started_at >= 1 AND started_at < 9 ORDER BY started_at, born", "listed_newest"],
  ] as const) {
    const plan = planOf(`SELECT born FROM listed INDEXED BY ${index} ${rest}`);
    expect(plan).toContain(`COVERING INDEX ${index}`);
    expect(plan).not.toContain("TEMP B-TREE");
  }
  expect(planOf("SELECT from_at FROM search_block WHERE tallies IS NULL ORDER BY from_at")).toContain("outdated");
  for (const order of ["ASC", "DESC"]) {
    const plan = planOf(`SELECT duration FROM listed WHERE duration IS NOT NULL ORDER BY duration ${order} LIMIT 1`);
    expect(plan).toContain("listed_duration");
    expect(plan).not.toContain("TEMP B-TREE");
  }
});

test("a file of the version that noted host names opens, and its tasks go on where OpenCode has its usual database", () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 3));
  const [live, rested] = [scriptTask("ses_live"), scriptTask("ses_rested")];
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
  expect(wholeTasks(store)).toEqual([live, rested].map(({ record }) => record().task));
  expect(store.journal("ses_rested")).toEqual(rested.events());
  expect(store.stats()).toMatchObject({ total: 2, byAgent: { general: 2 } });
  expect(store.batch("batch")).toHaveLength(2);

  const nothing = { tasks: [], prompts: [], launches: [] };
  expect(store.adopt(START, () => true)).toEqual(nothing);
  expect(enter("stranger", "other.db").adopt(START + LEASE_MS + 1, () => true)).toEqual(nothing);
  const adopted = store.adopt(START + LEASE_MS + 1, () => true);
  expect(adopted.tasks).toEqual([live.record()]);
  expect(adopted.prompts).toEqual([{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }]);
  expect(adopted.launches.map(({ messageID }) => messageID)).toEqual(["msg_2"]);
  for (const chapter of [live.answer(), live.deliver()]) expect(store.commit(chapter)).toEqual([]);
  expect(store.journal("ses_live")).toEqual(live.events());
});

test("what the tasks of a file from before it was listed used is listed and added up", () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 10));
  const add = old.prepare(
    "INSERT INTO task (id, parent, status, started_at, directory, progress, snapshot) VALUES (?, 'p', 'completed', 1, 'd', ?, '{}')",
  );
  const list = old.prepare(
    `INSERT INTO listed (born, change, id, started_at, status, agent, directory, batch, description, tally)
     VALUES (?1, ?1, ?2, 1, 'completed', 'general', 'd', 'b', 'find it', 1)`,
  );
  old.exec("INSERT INTO tally (id, status, agent, directory) VALUES (1, 'completed', 'general', 'd')");
  const progress = [`{"tokens":70,"cost":0.25}`, `{"tokens":5,"cost":1}`, `{"toolCalls":1}`, "{"];
  for (const [index, text] of progress.entries()) {
    add.run(`ses_${index}`, text);
    list.run(index + 1, `ses_${index}`);
  }
  migrate(opened(path));
  const database = opened(path);
  expect(database.prepare("SELECT tokens, cost FROM listed ORDER BY born").all()).toEqual([
    { tokens: 70, cost: 0.25 },
    { tokens: 5, cost: 1 },
    { tokens: 0, cost: 0 },
    { tokens: 0, cost: 0 },
  ]);
  const sums = database.prepare("SELECT tasks, tokens, cost FROM tally");
  expect(sums.all()).toEqual([{ tasks: 4, tokens: 75, cost: 1.25 }]);
  database.exec("DELETE FROM listed WHERE id = 'ses_1'");
  expect(sums.all()).toEqual([{ tasks: 3, tokens: 70, cost: 0.25 }]);
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

const insert = (database: Database, table: string, rows: readonly Record<string, Value>[]) => {
  for (const row of rows) {
    const columns = Object.keys(row);
    const marks = columns.map(() => "?").join(", ");
    database.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`).run(...Object.values(row));
  }
};

/** A file as version 6 of the schema wrote it: tasks in every state of their chart, with their journals. */
const writtenByVersionSix = () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 6));
  insert(old, "task", versionSix.task);
  insert(old, "listed", versionSix.listed);
  insert(old, "journal", versionSix.journal);
  insert(old, "prompt", versionSix.prompt);
  old.exec(`UPDATE newest_change SET number = ${versionSix.listed.length}`);
  return { path, old };
};

const tasksIn = (database: Database) =>
  database
    .prepare<{ id: string; status: string }>("SELECT id, status FROM task ORDER BY seq")
    .all()
    .flatMap(({ id, status }) => {
      const journal = readJournal(database, id);
      return journal ? { id, status, ...journal } : [];
    });

/** A state of version 6 as the task's text of today. */
const renamed = ({ value: { lifecycle } }: { value: { lifecycle: unknown } }) =>
  JSON.stringify(lifecycle)
    .replaceAll(/[{}"]/g, "")
    .replaceAll(":", ".")
    .replace(/launching|prompting/, "sending")
    .replace("settling", "verifying")
    .replace("reclaiming", "recovering");

test("tasks that the version before the charts were renamed left in any state replay to where they are", () => {
  const { path } = writtenByVersionSix();
  const database = opened(path);
  migrate(database);
  const tasks = tasksIn(database);
  expect(tasks).toHaveLength(versionSix.task.length);
  expect(tasks.map(({ snapshot }) => lifecyclePath(snapshot))).toEqual(
    versionSix.task.map(({ snapshot }) => renamed(JSON.parse(snapshot))),
  );
  for (const { id, status, snapshot, origin, events } of tasks) {
    const { steps, snapshot: replayed } = replay(given(origin), events);
    expect(
      steps.filter(({ refused }) => refused !== undefined),
      id,
    ).toEqual([]);
    expect(differences(replayed, snapshot), id).toEqual([]);
    expect(isCompatible(snapshot), id).toBe(true);
    expect(statusOf(snapshot), id).toBe(status);
  }
});

test("a process of today takes over what that version left under way, and lists the rest", () => {
  const { path } = writtenByVersionSix();
  const file = opened(path);
  migrate(file);
  const store = createSqliteStore({ database: file, owner: ownerOf("next"), now: () => START });
  const left = versionSix.task.filter(({ owner }) => owner !== null);
  const { tasks, prompts } = store.adopt(START + LEASE_MS, () => true);
  expect(tasks.map(({ task }) => task.sessionID).sort()).toEqual(left.map(({ id }) => id).sort());
  expect(prompts).toHaveLength(1);
  expect(store.list({})).toHaveLength(versionSix.task.length);
});

test("tasks that an older version stored are listed as their records say, damaged ones as far as it is known", () => {
  const { path, old } = writtenByVersionSix();
  const [damaged, forked] = ["ses_task_08", "ses_task_07"];
  old.prepare("UPDATE task SET snapshot = '{' WHERE id = ?").run(damaged);
  old
    .prepare("UPDATE task SET snapshot = json_set(snapshot, '$.context.facts.isForked', json('true')) WHERE id = ?")
    .run(forked);
  const database = opened(path);
  migrate(database);
  const store = createSqliteStore({ database, owner: ownerOf("next"), now: () => START, onDamaged: () => undefined });
  const listed = store.list({});
  expect(listed.filter(({ sessionID }) => sessionID !== damaged)).toEqual(wholeTasks(store).map(entryOf));
  expect(listed.filter(({ isForked }) => isForked).map(({ sessionID }) => sessionID)).toEqual([forked]);
  expect(listed.some(({ resumeCount }) => resumeCount > 0)).toBe(true);
  const row = versionSix.listed.find(({ id }) => id === damaged);
  expect(listed.find(({ sessionID }) => sessionID === damaged)).toMatchObject({
    resumeCount: 0,
    isForked: false,
    runBeganAt: Number(row?.ended_at) - Number(row?.duration),
    runEndedAt: row?.ended_at,
  });
});

test("damaged rows stay as they are when the charts' names change, and the others are renamed all the same", () => {
  const { path, old } = writtenByVersionSix();
  const [damaged, ...whole] = versionSix.task.map(({ id }) => id);
  old.exec("DROP TRIGGER keep_damaged_snapshot");
  for (const [text, id] of [
    ["{", damaged],
    ["5", whole[0]],
    ['{"context":{"facts":{}}}', whole[1]],
  ] as const)
    old.prepare("UPDATE task SET snapshot = ? WHERE id = ?").run(text, String(id));
  old.prepare("UPDATE journal SET event = '{' WHERE seq = 1").run();
  old.exec(`CREATE TRIGGER keep_damaged_snapshot BEFORE UPDATE OF snapshot ON task WHEN NOT json_valid(old.snapshot)
    BEGIN INSERT INTO damaged (task, snapshot, progress) VALUES (old.id, old.snapshot, old.progress); END`);
  const database = opened(path);
  migrate(database);
  const snapshots = database.prepare<{ snapshot: string }>("SELECT snapshot FROM task ORDER BY seq").all();
  expect(snapshots.slice(0, 3).map(({ snapshot }) => snapshot)).toEqual(["{", "5", '{"context":{"facts":{}}}']);
  for (const { snapshot } of snapshots.slice(3)) expect(JSON.parse(snapshot).context).toHaveProperty("sendAttempts");
  const events = database.prepare<{ event: string }>("SELECT event FROM journal ORDER BY seq").all();
  expect(events[0]?.event).toBe("{");
  expect(events.some(({ event }) => /LOOK|SESSION_GONE|"look"/.test(event))).toBe(false);
  expect(database.prepare("SELECT * FROM damaged").all()).toEqual([]);
});

/** A file as version 7 of the schema wrote it: each text stands in it as often as the task's JSON has it. */
const writtenByVersionSeven = () => {
  const path = join(temporaryFolder(), "some.db");
  const old = opened(path);
  migrate(old, migrations.slice(0, 7));
  insert(old, "task", versionSeven.task);
  insert(old, "listed", versionSeven.listed);
  insert(old, "journal", versionSeven.journal);
  old.exec(`UPDATE newest_change SET number = ${versionSeven.listed.length}`);
  return { path, old };
};

const withSteering = (snapshot: StoredSnapshot): StoredSnapshot => ({
  ...snapshot,
  value: { ...snapshot.value, steering: "none" },
});

/** What version 7 reads of a task, with the region of its chart that was added later. */
const journalOfVersionSeven = (id: string): Journal => {
  const { snapshot, origin } = given(versionSeven.task.find((task) => task.id === id));
  return {
    taskId: id,
    origin: origin === null ? null : JSON.parse(origin),
    events: versionSeven.journal.filter(({ task }) => task === id).map(({ event }) => JSON.parse(event)),
    snapshot: withSteering(JSON.parse(snapshot)),
  };
};

test("each text is stored once, and every task is exported and replayed as before, byte for byte", () => {
  const { path } = writtenByVersionSeven();
  const database = opened(path);
  migrate(database);
  const facts = { exportedAt: new Date(START).toISOString(), plugin: "1.0.0", schema: 7 };
  for (const { id } of versionSeven.task) {
    const [journal, before] = [given(readJournal(database, id)), journalOfVersionSeven(id)];
    for (const hasText of [true, false]) {
      expect(serialize(journal, { ...facts, hasText }), id).toBe(serialize(before, { ...facts, hasText }));
    }
    if (!journal.origin) continue;
    expect(differences(replay(journal.origin, journal.events).snapshot, journal.snapshot), id).toEqual([]);
  }
  const numbers = (sql: string) => database.prepare<{ count: number }>(sql).get()?.count;
  expect(numbers("SELECT count(*) AS count FROM task WHERE length(snapshot) > 2000 OR length(origin) > 1000")).toBe(0);
  expect(numbers("SELECT count(*) AS count FROM journal WHERE length(event) > 500")).toBe(0);
  expect(numbers("SELECT count(*) AS count FROM (SELECT 1 FROM text GROUP BY task, json HAVING count(*) > 1)")).toBe(0);
  expect(database.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
});

test("a process goes on with tasks whose texts were moved, and stores none of them again", () => {
  const { path } = writtenByVersionSeven();
  const file = opened(path);
  migrate(file);
  const texts = () => file.prepare("SELECT * FROM text").all();
  const before = texts();
  const store = createSqliteStore({ database: file, owner: ownerOf("next"), now: () => START });
  const { tasks } = store.adopt(START + LEASE_MS, () => true);
  expect(tasks.map(({ task }) => task.sessionID)).toContain("ses_working");
  for (const record of tasks) {
    expect(store.commit({ records: [record], journal: [], prompts: [] })).toEqual([]);
    expect(store.get(record.task.sessionID)).toEqual(record);
  }
  expect(texts()).toEqual(before);
});

test("damaged rows stay as they are when texts are moved, and those of the others are moved all the same", () => {
  const { path, old } = writtenByVersionSeven();
  const trigger = old
    .prepare<{ sql: string }>("SELECT sql FROM sqlite_master WHERE name = 'keep_damaged_snapshot'")
    .get();
  old.exec("DROP TRIGGER keep_damaged_snapshot");
  old.exec(`
    UPDATE task SET snapshot = '{' WHERE id = 'ses_short';
    UPDATE task SET snapshot = '5', origin = '[' WHERE id = 'ses_working';
    UPDATE journal SET event = '{' WHERE seq = 1;
    ${given(trigger).sql};
  `);
  const database = opened(path);
  migrate(database);
  expect(database.prepare("SELECT snapshot, origin FROM task ORDER BY seq LIMIT 2").all()).toEqual([
    { snapshot: "{", origin: versionSeven.task[0]?.origin },
    { snapshot: "5", origin: "[" },
  ]);
  expect(database.prepare("SELECT event FROM journal WHERE seq = 1").get()).toEqual({ event: "{" });
  expect(database.prepare("SELECT * FROM damaged").all()).toEqual([]);
  expect(readJournal(database, "ses_ended")).toEqual(journalOfVersionSeven("ses_ended"));
});

test("a task that a version without slots left at work holds one from its first change on, and removed tasks leave none", () => {
  const { path } = writtenByVersionSix();
  const file = opened(path);
  migrate(file);
  const store = createSqliteStore({ database: file, owner: ownerOf("next"), now: () => START });
  const { tasks } = store.adopt(START + LEASE_MS, () => true);
  expect(store.places(tasks.map(({ task }) => task.sessionID)).size).toBe(0);
  store.commit({ records: tasks, journal: [], prompts: [] });
  const held = file.prepare<{ task: string }>("SELECT task FROM slot WHERE is_held = 1 ORDER BY task").all();
  const atWork = tasks.filter(({ snapshot }) => slotOf(snapshot) === "held").map(({ task }) => task.sessionID);
  expect(atWork.length).toBeGreaterThan(0);
  expect(held.map(({ task }) => task)).toEqual(atWork.sort());
  store.remove(atWork);
  expect(file.prepare("SELECT task FROM slot").all()).toEqual([]);
});

test("the slots of a file from before runs queued for another model are those of runs that have not left theirs", () => {
  const file = opened(join(temporaryFolder(), "tasks.db"));
  migrate(file, migrations.slice(0, 15));
  file.exec(`
    INSERT INTO slot (task, owner, is_held, agent, provider, model, priority, since, limits, retries_at)
    VALUES ('ses_1', 'next', 1, 'general', 'p', 'p/m1', 0, 0, '{}', 9);
  `);
  migrate(file);
  const rows = file.prepare("SELECT task, is_held, retries_at, goes_on FROM slot ORDER BY seq");
  expect(rows.all()).toEqual([{ task: "ses_1", is_held: 1, retries_at: 9, goes_on: 0 }]);
});

test("the slots of a file from before refusals were noted stay, and none of them is refused", () => {
  const file = opened(join(temporaryFolder(), "tasks.db"));
  migrate(file, migrations.slice(0, 13));
  file.exec(`
    INSERT INTO slot (task, owner, is_held, agent, provider, model, priority, since, limits)
    VALUES ('ses_1', 'next', 1, 'general', 'p', 'p/m1', 0, 0, '{}'), ('ses_2', 'next', 0, 'general', 'p', 'p/m1', 0, 1, '{"total":1}');
  `);
  migrate(file);
  const rows = file.prepare<{ task: string; is_held: number; retries_at: null }>(
    "SELECT task, is_held, retries_at FROM slot ORDER BY seq",
  );
  expect(rows.all()).toEqual([
    { task: "ses_1", is_held: 1, retries_at: null },
    { task: "ses_2", is_held: 0, retries_at: null },
  ]);
});

test("the runs that wait in a file from before there were lanes keep their order and their places", () => {
  const path = join(temporaryFolder(), "tasks.db");
  const file = opened(path);
  migrate(file, migrations.slice(0, 16));
  file.exec(`
    INSERT INTO slot (task, owner, is_held, agent, provider, model, priority, since, limits)
    VALUES ('ses_1', 'next', 1, 'general', 'p', 'p/m1', 0, 0, '{}'),
      ('ses_2', 'next', 0, 'general', 'p', 'p/m1', 0, 2, '{"total":1}'),
      ('ses_3', 'next', 0, 'explore', NULL, NULL, 0, 1, '{"total":1,"agent":3}'),
      ('ses_4', 'next', 0, 'general', 'p', 'p/m1', 1, 3, '{"total":1}');
  `);
  migrate(file);
  const store = createSqliteStore({ database: opened(path), owner: ownerOf("next"), now: () => START });
  const places = store.places(["ses_1", "ses_2", "ses_3", "ses_4"]);
  expect([...places].map(([id, { place }]) => [id, place]).sort()).toEqual([
    ["ses_2", 3],
    ["ses_3", 2],
    ["ses_4", 1],
  ]);
});
