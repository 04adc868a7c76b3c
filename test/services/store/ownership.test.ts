import { describe, expect, test } from "vitest";
import { LAUNCH_LIMITS } from "../../../src/machines/launch/setup.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../../../src/services/store/ownership.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import type { SqliteStore } from "../../../src/services/store/sqlite/sqlite-store.ts";
import { noProgress } from "../../../src/task.ts";
import { noticePrompt, START, scriptTask } from "./scripted-task.ts";
import { createSharedDatabase } from "./shared-database.ts";

const openDatabase = loadSqlite();
const NOBODY = { tasks: [], prompts: [], launches: [] };
const all = () => true;

const ownersIn = (file: ReturnType<typeof createSharedDatabase>) =>
  file.rows<{ id: string }>("SELECT id FROM owner ORDER BY id").map(({ id }) => id);

const idsOf = (tasks: { task: { sessionID: string } }[]) => tasks.map(({ task }) => task.sessionID);

const beginLaunch = (store: SqliteStore, messageID: string) =>
  store.beginLaunch({ messageID, parentSessionID: "ses_parent", at: START, fork: true });

test("two processes each store their tasks, and see the other's as elsewhere", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [mine, other] = [scriptTask("ses_a"), scriptTask("ses_b")];
  a.commit(mine.launch());
  b.commit(other.launch());
  expect(a.list({}).map(({ sessionID }) => sessionID)).toEqual(["ses_a", "ses_b"]);
  expect([a.isOwnedElsewhere("ses_a"), a.isOwnedElsewhere("ses_b"), b.isOwnedElsewhere("ses_a")]).toEqual([
    false,
    true,
    true,
  ]);
  expect(a.claim("ses_b")).toBe(false);
});

test("a process is alone until another one opens the store, and again once that has closed it", () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("a");
  store.heartbeat(START);
  expect(store.isAlone()).toBe(true);
  const other = file.openAs("b").store;
  other.heartbeat(START);
  expect([store.isAlone(), other.isAlone()]).toEqual([false, false]);
  other.close();
  expect(store.isAlone()).toBe(true);
});

test("nothing is stored of another's task, and what comes with it is", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [story, own] = [scriptTask("ses_1"), scriptTask("ses_2")];
  a.commit(story.launch());
  const stored = story.record();
  const both = [story.answer("a trespass"), own.launch()];
  const lost = b.commit({
    records: both.flatMap(({ records }) => records),
    journal: both.flatMap(({ journal }) => journal),
    prompts: [],
  });
  expect(lost).toEqual(["ses_1"]);
  expect(a.get("ses_1")).toEqual(stored);
  expect(a.journal("ses_1")).toHaveLength(2);
  expect(a.get("ses_2")).toEqual(own.record());
  b.storeProgress(new Map([["ses_1", { ...noProgress("2026-01-01T00:00:00.000Z"), toolCalls: 9 }]]));
  expect(a.get("ses_1")?.task.progress.toolCalls).toBe(0);
});

test("a task that another process removed is lost to the one that had it, and does not come back", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [live, rested, unseen] = [scriptTask("ses_1"), scriptTask("ses_2"), scriptTask("ses_3")];
  a.commit(live.launch());
  a.commit(rested.whole());
  a.commit(unseen.launch());
  b.remove(["ses_1", "ses_2", "ses_3"]);
  expect(a.commit(live.answer())).toEqual(["ses_1"]);
  expect(a.commit(rested.resume())).toEqual(["ses_2"]);
  expect(a.heartbeat(START)).toEqual(["ses_3"]);
  expect(a.heartbeat(START)).toEqual([]);
  expect(a.commit(live.deliver())).toEqual(["ses_1"]);
  expect(a.list({})).toEqual([]);
});

test("of two that claim a task at rest, one gets it; given back, the other may have it", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const story = scriptTask("ses_1");
  a.commit(story.whole());
  expect([b.claim("ses_1"), a.claim("ses_1"), b.claim("ses_1")]).toEqual([true, false, true]);
  a.release("ses_1");
  expect(a.claim("ses_1")).toBe(false);
  b.release("ses_1");
  expect(a.claim("ses_1")).toBe(true);
  expect(a.commit(story.resume())).toEqual([]);
  expect(b.isOwnedElsewhere("ses_1")).toBe(true);
});

test("launches that have led to no task are known to all processes, with whose they are", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b")];
  b.store.beginLaunch({ messageID: "msg_b", parentSessionID: "ses_parent", at: START + 1, fork: false });
  beginLaunch(a.store, "msg_a");
  beginLaunch(a.store, "msg_done");
  a.store.endLaunch("msg_done");
  const whose = (store: SqliteStore) => store.launches().map(({ pending, of }) => `${pending.messageID} ${of}`);
  expect(whose(a.store)).toEqual(["msg_a own", "msg_b other"]);
  expect(a.store.launches()[0]).toEqual({
    pending: { messageID: "msg_a", parentSessionID: "ses_parent", at: START, fork: true },
    directory: expect.any(String),
    of: "own",
  });
  a.kill();
  expect(whose(b.store)).toEqual(["msg_a ended", "msg_b own"]);
});

test("what a dead process had goes to the next of its directory: tasks, prompts in their order, and launches", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a");
  const [live, untold] = [scriptTask("ses_live", { after: 5 }), scriptTask("ses_untold")];
  a.store.commit(live.launch());
  a.store.commit(untold.launch());
  const prompts = [noticePrompt("msg_z"), noticePrompt("msg_a")];
  a.store.commit({ ...untold.answer(), prompts: [{ parentSessionID: "ses_parent", prompts }] });
  a.store.commit(scriptTask("ses_rested").whole());
  beginLaunch(a.store, "msg_cut_off");
  a.store.beginLaunch({ messageID: "msg_plain", parentSessionID: "ses_parent", at: START + 1, fork: false });
  const b = file.openAs("b");
  expect(b.store.adopt(START, all)).toEqual(NOBODY);
  a.kill();
  const adopted = b.store.adopt(START, all);
  expect(idsOf(adopted.tasks)).toEqual(["ses_untold", "ses_live"]);
  expect(adopted.tasks).toEqual([untold.record(), live.record()]);
  expect(adopted.prompts).toEqual([{ parentSessionID: "ses_parent", prompts }]);
  expect(adopted.launches).toEqual([
    { messageID: "msg_cut_off", parentSessionID: "ses_parent", at: START, fork: true },
    { messageID: "msg_plain", parentSessionID: "ses_parent", at: START + 1, fork: false },
  ]);
  expect(b.store.adopt(START, all)).toEqual(NOBODY);
  expect(ownersIn(file)).toEqual(["b"]);
  expect(b.store.commit(live.answer())).toEqual([]);
  expect(a.store.commit(untold.deliver())).toEqual(["ses_untold"]);
});

test("a process that is silent for longer than its lease loses what it has, and learns of it", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a").store;
  const b = file.openAs("b").store;
  const story = scriptTask("ses_1");
  a.commit(story.launch());
  expect(b.adopt(START + LEASE_MS, all)).toEqual(NOBODY);
  expect(idsOf(b.adopt(START + LEASE_MS + 1, all).tasks)).toEqual(["ses_1"]);
  expect(a.heartbeat(START + LEASE_MS + 2)).toEqual(["ses_1"]);
  expect(a.commit(story.answer())).toEqual(["ses_1"]);
  expect(b.get("ses_1")?.task.status).toBe("running");
});

test("a prompt with the end of a task that was lost is not stored: who took it over would deliver that end twice", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b").store];
  const [lost, own] = [scriptTask("ses_1"), scriptTask("ses_2")];
  a.store.commit(lost.launch());
  b.adopt(START + LEASE_MS + 1, all);
  a.store.commit(own.launch());
  const promptOf = (taskId: string) => ({ ...noticePrompt(`msg_of_${taskId}`), runs: [{ taskId, run: 0 }] });
  const [late, good] = [promptOf("ses_1"), promptOf("ses_2")];
  const ends = [lost.answer(), own.answer()];
  const refused = a.store.commit({
    records: ends.flatMap(({ records }) => records),
    journal: ends.flatMap(({ journal }) => journal),
    prompts: [{ parentSessionID: "ses_parent", prompts: [late, good] }],
  });
  expect(refused).toEqual(["ses_1"]);
  a.kill();
  expect(b.adopt(START + LEASE_MS + 1, all)).toMatchObject({
    tasks: [{ task: { sessionID: "ses_2" } }],
    prompts: [{ parentSessionID: "ses_parent", prompts: [good] }],
  });
});

test("what the next owner brought to an end stays as it ended", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a").store;
  const b = file.openAs("b").store;
  const story = scriptTask("ses_1");
  a.commit(story.launch());
  b.adopt(START + LEASE_MS + 1, all);
  for (const chapter of [story.answer(), story.deliver()]) expect(b.commit(chapter)).toEqual([]);
  const late = scriptTask("ses_1");
  late.launch();
  expect(a.commit(late.answer("too late"))).toEqual(["ses_1"]);
  expect(b.get("ses_1")).toEqual(story.record());
  expect(b.journal("ses_1")).toEqual(story.events());
});

test("beats keep a lease", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a").store;
  const b = file.openAs("b").store;
  a.commit(scriptTask("ses_1").launch());
  a.heartbeat(START + LEASE_MS);
  expect(b.adopt(START + 2 * LEASE_MS, all)).toEqual(NOBODY);
});

test("only what is wanted is taken over; the rest stays for whoever wants it", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a");
  for (const parent of ["ses_p", "ses_q"]) {
    const story = scriptTask(`${parent}_task`, { parentSessionID: parent });
    const prompts = [{ parentSessionID: parent, prompts: [noticePrompt(`msg_${parent}`)] }];
    a.store.commit({ ...story.launch(), prompts });
    a.store.beginLaunch({ messageID: `msg_launch_${parent}`, parentSessionID: parent, at: START, fork: false });
  }
  a.kill();
  const b = file.openAs("b").store;
  for (const parent of ["ses_q", "ses_p"]) {
    const adopted = b.adopt(START, (parentSessionID) => parentSessionID === parent);
    expect(idsOf(adopted.tasks)).toEqual([`${parent}_task`]);
    expect(adopted.prompts.map(({ parentSessionID }) => parentSessionID)).toEqual([parent]);
    expect(adopted.launches.map(({ parentSessionID }) => parentSessionID)).toEqual([parent]);
    expect(ownersIn(file)).toEqual(parent === "ses_q" ? ["a", "b"] : ["b"]);
  }
});

test("nothing is taken over in another directory, nor is a task at rest", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a");
  a.store.commit(scriptTask("ses_1").launch());
  a.store.commit(scriptTask("ses_2").whole());
  a.kill();
  expect(file.openAs("b", { directory: "/elsewhere" }).store.adopt(START, all)).toEqual(NOBODY);
  expect(idsOf(file.openAs("c").store.adopt(START, all).tasks)).toEqual(["ses_1"]);
});

test("a process that closes its store leaves everything free at once", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const story = scriptTask("ses_1");
  a.commit({ ...story.launch(), prompts: [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }] });
  a.close();
  expect(ownersIn(file)).toEqual(["b"]);
  expect(b.claim("ses_1")).toBe(false);
  const adopted = b.adopt(START, all);
  expect(idsOf(adopted.tasks)).toEqual(["ses_1"]);
  expect(adopted.prompts).toHaveLength(1);
});

describe("a launch is not taken over as long as its session may still be created:", () => {
  const OVER = LAUNCH_LIMITS.searchFor + 1;
  const lookedAt = (store: SqliteStore, at: number) => store.adopt(at, all).launches.map(({ messageID }) => messageID);

  test("of a process that stands still it is left for a quarter of an hour, when its tasks have long been taken over", () => {
    const file = createSharedDatabase();
    const [a, b] = [file.openAs("a").store, file.openAs("b").store];
    a.commit(scriptTask("ses_1").launch());
    beginLaunch(a, "msg_2");
    const taken = { tasks: [{ task: { sessionID: "ses_1" } }], launches: [] };
    expect(b.adopt(START + LEASE_MS + 1, all)).toMatchObject(taken);
    expect(lookedAt(b, START + OVER - 1)).toEqual([]);
    expect(lookedAt(b, START + OVER)).toEqual(["msg_2"]);
  });

  test.each([-3_600_000, 0, 3_600_000])(
    "so it is on another machine, whose clock is off by %i ms: what counts is since when it is known here",
    (skew) => {
      const file = createSharedDatabase();
      const [a, b] = [file.openAs("a", { machine: "there" }).store, file.openAs("b").store];
      a.heartbeat(START + skew);
      a.beginLaunch({ messageID: "msg_2", parentSessionID: "ses_parent", at: START + skew, fork: true });
      expect(lookedAt(b, START)).toEqual([]);
      const silentAt = START + LEASE_MS + 1;
      expect(lookedAt(b, silentAt)).toEqual([]);
      expect(lookedAt(b, silentAt + OVER - 1)).toEqual([]);
      expect(lookedAt(b, silentAt + OVER)).toEqual(["msg_2"]);
    },
  );

  test.each([
    ["in the same process", { pid: 1 }],
    ["in another one", {}],
  ])("so it is where the plugin was disposed of, and what looks is %s", (_, given) => {
    const file = createSharedDatabase();
    const a = file.openAs("a");
    beginLaunch(a.store, "msg_2");
    a.store.close();
    const b = file.openAs("b", given).store;
    expect(lookedAt(b, START + OVER - 1)).toEqual([]);
    expect(lookedAt(b, START + OVER)).toEqual(["msg_2"]);
  });

  test("where its process has ended it is taken over at once, and again from whoever had taken it over", () => {
    const file = createSharedDatabase();
    const [a, b] = [file.openAs("a"), file.openAs("b")];
    beginLaunch(a.store, "msg_2");
    a.store.close();
    expect(lookedAt(b.store, START)).toEqual([]);
    a.kill();
    expect(lookedAt(b.store, START)).toEqual(["msg_2"]);
    b.store.close();
    expect(lookedAt(file.openAs("c").store, START)).toEqual(["msg_2"]);
  });
});

test("a claimed task to which nothing happened is taken over as well: nobody else could ever claim it", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a");
  a.store.commit(scriptTask("ses_1").whole());
  a.store.claim("ses_1");
  a.kill();
  const b = file.openAs("b").store;
  expect(idsOf(b.adopt(START, all).tasks)).toEqual(["ses_1"]);
  b.release("ses_1");
  expect(file.openAs("c").store.claim("ses_1")).toBe(true);
});

test("a list of prompts takes the place of the one before, and of no other process's or parent's", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b")];
  const store = (of: SqliteStore, parentSessionID: string, ...ids: string[]) =>
    of.commit({ records: [], journal: [], prompts: [{ parentSessionID, prompts: ids.map(noticePrompt) }] });
  store(a.store, "ses_p", "msg_1", "msg_2");
  store(a.store, "ses_q", "msg_3");
  store(b.store, "ses_p", "msg_4");
  store(a.store, "ses_p", "msg_2");
  store(a.store, "ses_q");
  a.kill();
  b.kill();
  const { prompts } = file.openAs("c").store.adopt(START, all);
  expect(prompts.map((list) => [list.parentSessionID, ...list.prompts.map(({ messageID }) => messageID)])).toEqual([
    ["ses_p", "msg_4", "msg_2"],
  ]);
});

test("a launch is pending until it ends, or until its task is stored", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a");
  for (const messageID of ["msg_ses_1", "msg_ended", "msg_cut_off"]) beginLaunch(a.store, messageID);
  a.store.commit(scriptTask("ses_1").launch());
  a.store.endLaunch("msg_ended");
  a.kill();
  const { launches } = file.openAs("b").store.adopt(START, all);
  expect(launches.map(({ messageID }) => messageID)).toEqual(["msg_cut_off"]);
});

test("a lease that expired counts for nothing until who looks has shown itself for two beats without a gap", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  a.commit(scriptTask("ses_1").launch());
  b.commit(scriptTask("ses_2").launch());
  // Neither could write, or the machine slept.
  await file.clock.advance(10 * LEASE_MS);
  const fresh = file.openAs("fresh").store;
  const looksOf = (store: SqliteStore) => {
    expect(store.heartbeat(file.clock.now())).toEqual([]);
    return idsOf(store.adopt(file.clock.now(), all).tasks);
  };
  for (const pause of [0, HEARTBEAT_MS, HEARTBEAT_MS - 1]) {
    await file.clock.advance(pause);
    expect([looksOf(b), looksOf(fresh)]).toEqual([[], []]);
  }
  // By now the other had time to renew its lease.
  await file.clock.advance(1);
  expect(looksOf(fresh)).toEqual(["ses_1"]);
});

test("who is dead is not waited for, however late it is seen", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a");
  a.store.commit(scriptTask("ses_1").launch());
  a.kill();
  const b = file.openAs("b").store;
  b.heartbeat(START + 10 * LEASE_MS);
  expect(idsOf(b.adopt(START + 10 * LEASE_MS, all).tasks)).toEqual(["ses_1"]);
});

test("a sweep leaves other directories alone", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b", { directory: "/elsewhere" }).store];
  a.commit(scriptTask("ses_1").whole());
  expect(b.sweep({ count: 0 }, START)).toBe(0);
  expect(a.sweep({ count: 0 }, START)).toBe(1);
});

test("a sweep leaves alone what another process has claimed", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  a.commit(scriptTask("ses_1").whole());
  b.claim("ses_1");
  expect(a.sweep({ count: 0 }, START)).toBe(0);
  b.release("ses_1");
  expect(a.sweep({ count: 0 }, START)).toBe(1);
});

test("beside a newer version nothing is written any more, but that the process lives", () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("a");
  const story = scriptTask("ses_1");
  store.commit(story.launch());
  const database = openDatabase(file.path);
  database.exec("PRAGMA user_version = 99");
  database.close();
  expect(() => store.commit(story.answer())).toThrow("it has version 99");
  expect(store.heartbeat(START + LEASE_MS)).toEqual([]);
  expect(store.get("ses_1")?.task.status).toBe("running");
});

test("nothing is taken over that belongs to another database of OpenCode's, whose sessions are not known here", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a", { database: "/elsewhere/opencode.db" });
  a.store.commit({
    ...scriptTask("ses_1").launch(),
    prompts: [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }],
  });
  beginLaunch(a.store, "msg_2");
  a.kill();
  const b = file.openAs("b").store;
  for (const at of [START, START + LEASE_MS + 1]) expect(b.adopt(at, all)).toEqual(NOBODY);
  expect(ownersIn(file)).toEqual(["a", "b"]);
  const adopted = file.openAs("c", { database: "/elsewhere/opencode.db" }).store.adopt(START, all);
  expect(idsOf(adopted.tasks)).toEqual(["ses_1"]);
  expect([adopted.prompts.length, adopted.launches.length]).toEqual([1, 1]);
});

test("a request for a task at rest waits for a process that has the task's session", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a", { database: "other.db" });
  a.store.commit(scriptTask("ses_1").whole());
  a.store.close();
  const b = file.openAs("b").store;
  b.submitCommand({ id: "req_1", taskId: "ses_1", command: { kind: "resume", prompt: "more" } }, START);
  expect(b.takeCommands()).toEqual([]);
  expect(file.openAs("c", { database: "other.db" }).store.takeCommands()).toHaveLength(1);
});

test("what a process had whose sessions were in its memory is gone with it; only what had ended stays", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a", { database: ":memory: of a" });
  const untold = scriptTask("ses_untold");
  a.store.commit(untold.launch());
  a.store.commit({
    ...untold.answer(),
    prompts: [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }],
  });
  a.store.commit(scriptTask("ses_live").launch());
  a.store.commit(scriptTask("ses_rested").whole());
  beginLaunch(a.store, "msg_2");
  const b = file.openAs("b", { directory: "/elsewhere" }).store;
  expect(b.adopt(START, all)).toEqual(NOBODY);
  expect(b.list({})).toHaveLength(3);
  a.kill();
  expect(b.adopt(START, all)).toEqual(NOBODY);
  expect(b.list({}).map(({ sessionID }) => sessionID)).toEqual(["ses_untold", "ses_rested"]);
  expect(b.isOwnedElsewhere("ses_untold")).toBe(false);
  expect(ownersIn(file)).toEqual(["b"]);
  expect(file.rows("SELECT parent FROM prompt UNION ALL SELECT parent FROM launch")).toEqual([]);
});

test("a change after a pause shows that its process lives, before the next beat does", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  a.commit(scriptTask("ses_1").launch());
  for (let silence = 0; silence <= LEASE_MS; silence += HEARTBEAT_MS) {
    b.heartbeat(file.clock.now());
    await file.clock.advance(HEARTBEAT_MS);
  }
  a.commit(scriptTask("ses_2").launch());
  expect(b.adopt(file.clock.now(), all)).toEqual(NOBODY);
});

test("a process of another machine is not judged by its pid, be there none of that here", () => {
  const file = createSharedDatabase();
  const a = file.openAs("a", { machine: "there" });
  a.store.commit(scriptTask("ses_1").launch());
  a.kill();
  const b = file.openAs("b").store;
  expect(b.adopt(START, all)).toEqual(NOBODY);
  expect(idsOf(b.adopt(START + LEASE_MS + 1, all).tasks)).toEqual(["ses_1"]);
});
