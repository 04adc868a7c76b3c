import { expect, test } from "vitest";
import { composeNotice } from "../../src/services/engine/delivery/notices.ts";
import { createProgressLog, createUsageReader } from "../../src/services/runtime/progress.ts";
import { type Database, loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../src/services/store/sqlite/sqlite-store.ts";
import { tasksNames } from "../../src/tools/tasks/tasks-toolset.ts";
import { createTestContext } from "../fakes/context.ts";
import { createStage, PARENT } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { ownerOf } from "../services/store/owners.ts";
import { scriptTask } from "../services/store/scripted-task.ts";

const openDatabase = loadSqlite();

/** Notes each statement that runs on a database. */
const watching = (database: Database, ran: string[]): Database => ({
  ...database,
  prepare: <Row>(sql: string) => {
    const { run, get, all } = database.prepare<Row>(sql);
    const noted =
      <Given extends unknown[], Result>(work: (...given: Given) => Result) =>
      (...given: Given): Result => {
        ran.push(sql);
        return work(...given);
      };
    return { run: noted(run), get: noted(get), all: noted(all) };
  },
});

/** A session with so many ended tasks and two that run, and what its tools run on the database. */
const sessionWith = async (tasks: number) => {
  const ran: string[] = [];
  const database = watching(openDatabase(":memory:"), ran);
  ensureSchema(database);
  const stage = createStage({
    openStore: ({ now }) => createSqliteStore({ database, owner: ownerOf("me"), now, onDamaged: () => undefined }),
    toolsets: ["tasks", "elisha", "subtasks"],
  });
  for (let index = 0; index < tasks; index += 1) {
    const batchId = index < 2 ? "first" : `batch_${index}`;
    stage.store.commit(scriptTask(`ses_${100 + index}_x`, { parentSessionID: PARENT, after: index, batchId }).whole());
  }
  for (let index = 0; index < 2; index += 1) await stage.launch();
  const statementsOf = async (work: () => unknown): Promise<string[]> => {
    ran.length = 0;
    await work();
    await settled();
    return [...ran];
  };
  return { stage, statementsOf, database };
};

type Session = Awaited<ReturnType<typeof sessionWith>>;

const end = {
  taskId: "ses_101_x",
  run: 0,
  parentSessionID: PARENT,
  batchId: "first",
  description: "find it",
  outcome: "completed",
  startedAt: 0,
  endedAt: 1,
} as const;

const READS: Readonly<Record<string, (stage: Session["stage"]) => unknown>> = {
  "a list": ({ call }) => call("list"),
  "a list of one status": ({ call }) => call("list", { status: "completed" }),
  "the output of a task": ({ call }) => call("output", { task_id: "ses_101_x" }),
  "the output of a task by the beginning of its id": ({ call }) => call("output", { task_id: "ses_101" }),
  "the output of a batch": ({ call }) => call("output", { batch_id: "first" }),
  "a cancel of a batch": ({ call }) => call("cancel", { batch_id: "first" }),
  "a clear of one": ({ call }) => call("clear", { task_id: "ses_102_x" }),
  "a launch": ({ call }) => call("task", { description: "find it", prompt: "Find it.", agent: "general" }),
  "the output of the toolset elisha": ({ call }) => call("elisha_task_output", { task_id: "ses_101_x" }),
  "the rest of a subtask's answer": ({ call }) => call("read_subtask", { taskId: "ses_101_x" }),
  "a reminder": ({ engine }) => engine.reminderFor(PARENT),
  "a notice": ({ store }) => {
    const context = createTestContext();
    const notice = { tools: tasksNames("asyncagents"), maxResultChars: 1_000, development: false };
    const usageReader = createUsageReader(store, createProgressLog());
    // The record of each task is read beside that, for its worktree.
    const withoutRecords = { ...store, get: () => undefined };
    const ctx = { ...context, store: withoutRecords, options: { ...context.options, notice }, usageReader };
    return composeNotice(ctx, [end], undefined);
  },
};

/** Once per 32 launches the texts that are searched are brought up to date, a bounded number of them. */
const withoutSearchedTexts = (statements: string[]) =>
  statements.filter((sql) => !/search_block|listed_newest/.test(sql));

test.each(Object.entries(READS))(
  "%s runs no more statements beside 30 tasks of the session than beside 3",
  async (_, read) => {
    const [few, many] = [await sessionWith(3), await sessionWith(30)];
    const [besideFew, besideMany] = [
      withoutSearchedTexts(await few.statementsOf(() => read(few.stage))),
      withoutSearchedTexts(await many.statementsOf(() => read(many.stage))),
    ];
    expect(besideFew.length).toBeGreaterThan(0);
    expect(besideMany).toEqual(besideFew);
  },
);

test("lists, reminders and notices are read by one statement, and what tasks used by one more: neither reads a record", async () => {
  const { stage, statementsOf } = await sessionWith(10);
  for (const [what, count] of [
    ["a list", 2],
    ["a list of one status", 2],
    ["a reminder", 1],
    ["a notice", 2],
  ] as const) {
    const statements = await statementsOf(() => READS[what]?.(stage));
    expect(statements, what).toHaveLength(count);
    for (const statement of statements) expect(statement, what).not.toMatch(/snapshot|progress|\*\s+FROM task/);
  }
});

const isChange = (sql: string): boolean => /^\s*(INSERT|UPDATE|DELETE)/.test(sql);

test("the result of a task counts as read the first time; to read it again changes nothing", async () => {
  const { stage, statementsOf } = await sessionWith(3);
  const changes = async () => {
    const statements = await statementsOf(() => READS["the output of a task"]?.(stage));
    return statements.filter(isChange);
  };
  expect(await changes()).not.toEqual([]);
  const { resultRetrievedAt } = stage.task("ses_101_x");
  await stage.clock.advance(1_000);
  expect(await changes()).toEqual([]);
  expect(stage.task("ses_101_x").resultRetrievedAt).toBe(resultRetrievedAt);
});

test.each(["output", "elisha_task_output"])(
  "a task that runs, here or in another process, is read without a change of anything: %s",
  async (tool) => {
    const { stage, statementsOf, database } = await sessionWith(3);
    const other = createSqliteStore({ database, owner: ownerOf("other"), now: stage.clock.now });
    other.commit(scriptTask("ses_900_x", { parentSessionID: PARENT }).launch());
    const running = stage.engine.list({ parentSessionID: PARENT }).filter(({ status }) => status === "running");
    expect(running).toHaveLength(3);
    for (const { sessionID: task_id } of running) {
      const statements = await statementsOf(() => stage.call(tool, { task_id }));
      expect(statements.filter(isChange)).toEqual([]);
    }
  },
);

test("a task whose record is damaged is listed and counted, said to be damaged, and can be removed", async () => {
  const { stage, database } = await sessionWith(3);
  const { call } = stage;
  const before = await call("list");
  database.exec("UPDATE task SET snapshot = '{' WHERE id = 'ses_101_x'");
  expect(await call("list")).toBe(before);
  for (const task_id of ["ses_101_x", "ses_101"]) {
    await expect(call("output", { task_id })).rejects.toThrow("Task ses_101_x cannot be read: its record");
  }
  expect(await call("clear", { batch_id: "first" })).toMatch(/^Removed ses_100_x .*\nRemoved ses_101_x "find it" \(/);
  expect(await call("list")).not.toContain("ses_101_x");
});
