import { join } from "node:path";
import { expect, test } from "vitest";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { COMMAND_LIFE_MS, type Store } from "../../../src/services/store/store.ts";
import { noProgress } from "../../../src/task.ts";
import { temporaryFolder } from "./folder-and-log.ts";
import { ownerOf } from "./owners.ts";
import { openResilient, readFile } from "./resilient/open-resilient.ts";
import { type ScriptedTask, START, scriptTask } from "./scripted-task.ts";
import { createSharedDatabase } from "./shared-database.ts";

const openDatabase = loadSqlite();
const ALL = { limit: 100, offset: 0 };

const pageOf = (store: Store, filter: { search?: string; offset?: number; limit?: number } = {}) => {
  const { records, total } = store.page({ ...ALL, ...filter });
  return { ids: records.map(({ task }) => task.sessionID), total };
};

const changesOf = (store: Store, since: number) =>
  store.changedSince(since, 100).map(({ change, record }) => ({ change, id: record.task.sessionID }));

const cancel = (id: string, taskId: string) => ({ id, taskId, command: { kind: "cancel" as const } });

test("two processes see each other's tasks, changes and removals; numbers rise through both", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [mine, other] = [scriptTask("ses_a"), scriptTask("ses_b", { after: 1 })];
  const steps = [
    () => a.commit(mine.launch()),
    () => b.commit(other.launch()),
    () => a.storeProgress(new Map([["ses_a", noProgress("2026-01-01T00:00:00.000Z")]])),
    () => b.commit(other.answer()),
  ];
  const numbers = steps.map((step) => {
    step();
    expect(a.latestChange()).toBe(b.latestChange());
    expect([pageOf(a), a.stats()]).toEqual([pageOf(b), b.stats()]);
    return a.latestChange();
  });
  expect(numbers).toEqual(numbers.toSorted((x, y) => x - y));
  expect(new Set(numbers).size).toBe(4);
  expect(changesOf(a, numbers[1] ?? 0)).toEqual(changesOf(b, numbers[1] ?? 0));
  b.remove(["ses_a"]);
  expect(pageOf(a)).toEqual({ ids: ["ses_b"], total: 1 });
  b.remove(["ses_b"]);
  a.commit(scriptTask("ses_c").launch());
  expect(pageOf(b)).toEqual({ ids: ["ses_c"], total: 1 });
  expect(a.latestChange()).toBeGreaterThan(numbers[3] ?? 0);
});

test("what another process may not change gets no number", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  a.commit(scriptTask("ses_1").launch());
  const latest = a.latestChange();
  b.storeProgress(new Map([["ses_1", noProgress("2026-01-01T00:00:00.000Z")]]));
  const trespass = scriptTask("ses_1");
  trespass.launch();
  b.commit(trespass.answer());
  expect(a.latestChange()).toBe(latest);
  expect(a.stats().byStatus.running).toBe(1);
});

test("a request goes to the process that supervises the task, and its answer to who asked", () => {
  const file = createSharedDatabase();
  const [a, b, c] = [file.openAs("a").store, file.openAs("b").store, file.openAs("c").store];
  a.commit(scriptTask("ses_1").launch());
  b.submitCommand(cancel("req_1", "ses_1"), START);
  expect([c.takeCommands(), b.takeCommands()]).toEqual([[], []]);
  expect(a.takeCommands()).toEqual([cancel("req_1", "ses_1")]);
  expect(a.takeCommands()).toEqual([]);
  a.storeOutcome("req_1", { refused: "no" });
  expect(b.takeOutcome("req_1")).toEqual({ refused: "no" });
  expect(file.rows("SELECT * FROM request")).toEqual([]);
});

test("one for a task at rest goes to one process of its directory; once another has claimed it, to that", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const elsewhere = file.openAs("c", { directory: "/elsewhere" }).store;
  a.commit(scriptTask("ses_1").whole());
  elsewhere.submitCommand(cancel("req_1", "ses_1"), START);
  expect([elsewhere.takeCommands(), b.takeCommands().length, a.takeCommands()]).toEqual([[], 1, []]);
  elsewhere.submitCommand(cancel("req_2", "ses_1"), START);
  b.claim("ses_1");
  expect([a.takeCommands(), b.takeCommands().length]).toEqual([[], 1]);
});

test("a request goes with the task to the next owner, and for a task that is gone is answered by anybody", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b").store];
  a.store.commit(scriptTask("ses_1").launch());
  for (const [id, taskId] of [
    ["req_1", "ses_1"],
    ["req_2", "ses_1"],
  ] as const)
    b.submitCommand(cancel(id, taskId), START);
  a.kill();
  b.adopt(START, () => true);
  expect(b.takeCommands().map(({ id }) => id)).toEqual(["req_1", "req_2"]);
  b.remove(["ses_1"]);
  a.store.submitCommand(cancel("req_3", "ses_1"), START);
  expect(b.takeCommands()).toEqual([]);
  expect(a.store.takeOutcome("req_3")?.refused).toContain("ses_1");
});

test("old requests are not given out any more, and neither they nor answers pile up", async () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("a");
  store.commit(scriptTask("ses_1").launch());
  for (const id of ["req_1", "req_2"]) store.submitCommand(cancel(id, "ses_1"), START);
  store.storeOutcome("req_2", {});
  await file.clock.advance(COMMAND_LIFE_MS + 1);
  expect(store.takeCommands()).toEqual([]);
  store.submitCommand(cancel("req_3", "ses_1"), file.clock.now());
  expect(file.rows<{ id: string }>("SELECT id FROM request").map(({ id }) => id)).toEqual(["req_3"]);
});

test("in an outage requests and answers wait, and are handed over when it is over", async () => {
  const folder = temporaryFolder();
  const [a, b] = [
    await openResilient({ folder, owner: ownerOf("a") }),
    await openResilient({ folder, owner: ownerOf("b") }),
  ];
  a.store.commit(scriptTask("ses_1").launch());
  b.disk.failWrites("full");
  b.store.submitCommand(cancel("req_1", "ses_1"), START);
  expect(a.store.takeCommands()).toEqual([]);
  b.disk.heal();
  b.store.heartbeat(START);
  expect(a.store.takeCommands()).toHaveLength(1);
  a.disk.failWrites("busy");
  a.store.storeOutcome("req_1", {});
  expect(b.store.takeOutcome("req_1")).toBeUndefined();
  a.disk.heal();
  a.store.heartbeat(START);
  expect(b.store.takeOutcome("req_1")).toEqual({});
});

test("where there is no file, a request for a task of another process is refused with the reason", async () => {
  const folder = temporaryFolder();
  const other = openDatabase(join(folder, "tasks.db"));
  other.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  const { store } = await openResilient({ folder });
  store.submitCommand(cancel("req_1", "ses_elsewhere"), START);
  expect(store.takeOutcome("req_1")?.refused).toContain("the task database cannot be reached");
  other.close();
});

test("who follows changes misses none over an outage, and sees what others stored meanwhile", async () => {
  const folder = temporaryFolder();
  const [a, b] = [
    await openResilient({ folder, owner: ownerOf("a") }),
    await openResilient({ folder, owner: ownerOf("b") }),
  ];
  const [mine, other] = [scriptTask("ses_a"), scriptTask("ses_b")];
  a.store.commit(mine.launch());
  let seen = a.store.latestChange();
  const follow = () => {
    const changes = changesOf(a.store, seen);
    expect(changes.every(({ change }) => change > seen)).toBe(true);
    seen = changes.at(-1)?.change ?? seen;
    return changes.map(({ id }) => id);
  };
  a.disk.failWrites("full");
  a.store.commit(mine.answer());
  expect([follow(), follow()]).toEqual([["ses_a"], []]);
  b.store.commit(other.launch());
  expect(follow()).toEqual(["ses_b"]);
  a.store.commit(mine.deliver());
  b.store.commit(other.answer());
  expect(follow()).toEqual(["ses_b", "ses_a"]);
  a.disk.heal();
  a.store.heartbeat(START);
  expect(follow()).toEqual(["ses_a"]);
  expect(follow()).toEqual([]);
});

test("tasks that changed in an outage are counted and found as they stand, beside those of the file", async () => {
  const { store, disk, path } = await openResilient();
  const stories = Array.from({ length: 6 }, (_, after) => scriptTask(`ses_${after}`, { after }));
  const step = (story: ScriptedTask | undefined, name: "launch" | "answer") =>
    void (story && store.commit(story[name]()));
  for (const story of stories.slice(0, 4)) step(story, "launch");
  disk.failWrites("full");
  step(stories[1], "answer");
  step(stories[4], "launch");
  store.remove(["ses_2"]);
  const says = (of: Store) => ({
    pages: [{}, { offset: 1, limit: 2 }, { search: "it" }].map((filter) => pageOf(of, filter)),
    running: of.page({ ...ALL, status: "running" }).total,
    tallies: of.stats(),
    live: of.live(),
    ended: of.newestEnded(9),
    batch: of.batch("batch"),
  });
  const said = says(store);
  expect(said.pages[0]).toEqual({ ids: ["ses_4", "ses_3", "ses_1", "ses_0"], total: 4 });
  disk.heal();
  store.heartbeat(START);
  expect(says(store)).toEqual(said);
  expect(readFile(path, says)).toEqual(said);
});
