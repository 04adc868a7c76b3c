import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HEARTBEAT_MS, LEASE_MS } from "../../../../src/services/store/ownership.ts";
import { type FaultKind, loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import type { Store } from "../../../../src/services/store/store.ts";
import { entryOf, noProgress } from "../../../../src/task.ts";
import { createMemory } from "../../../fakes/disk.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";
import { temporaryFolder } from "../folder-and-log.ts";
import { ownerOf } from "../owners.ts";
import { noticePrompt, type ScriptedTask, START, scriptTask } from "../scripted-task.ts";
import { createFaultyDisk } from "./faulty-database.ts";
import { type OpenedStore, openResilient, readFile } from "./open-resilient.ts";

const openDatabase = loadSqlite();

/** Returns everything that a store has of some tasks. */
const saysOf = (ids: string[]) => (store: Store) => ({
  records: ids.map((id) => store.get(id)),
  // The tasks are launched in any order.
  list: store.list({}).toSorted((a, b) => a.sessionID.localeCompare(b.sessionID)),
  journals: ids.map((id) => store.journal(id)),
});

const OUTAGE = "cannot be used for now";
const OVER = "can be used again";

test.each(["full", "busy", "readonly", "other"] as const)(
  "changes on a disk that is %s are kept, and written in order with the next beat that succeeds",
  async (kind) => {
    const { store, disk, path, log } = await openResilient();
    const [before, story] = [scriptTask("ses_0"), scriptTask("ses_1")];
    store.commit(before.launch());
    disk.failWrites(kind);
    store.beginLaunch({ messageID: "msg_ses_1", parentSessionID: "ses_parent", at: START, fork: false });
    for (const chapter of [story.launch(), before.answer(), story.answer(), before.deliver()]) {
      expect(store.commit(chapter)).toEqual([]);
    }
    store.storeProgress(new Map([["ses_1", { ...noProgress(story.record().task.startedAt), toolCalls: 4 }]]));
    store.heartbeat(START);
    const meant = saysOf(["ses_0", "ses_1"])(store);
    expect(meant.records.map((record) => record?.task.progress.toolCalls)).toEqual([0, 4]);
    expect(meant.journals).toEqual([before.events(), story.events()]);
    expect(readFile(path, (file) => file.get("ses_1"))).toBeUndefined();
    disk.heal();
    expect(store.heartbeat(START)).toEqual([]);
    expect(readFile(path, saysOf(["ses_0", "ses_1"]))).toEqual(meant);
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain(OUTAGE);
    expect(log.errors[0]).toContain(path);
    expect(log.infos).toHaveLength(1);
    expect(log.infos[0]).toContain(OVER);
  },
);

test("each outage is said once, and its end once", async () => {
  const { store, disk, log } = await openResilient();
  const story = scriptTask("ses_1");
  for (const chapter of [story.launch(), story.answer(), story.deliver()]) {
    disk.failWrites("full");
    store.commit(chapter);
    store.heartbeat(START);
    disk.heal();
    store.heartbeat(START);
  }
  expect([log.errors.length, log.infos.length]).toEqual([3, 3]);
});

test("an outage in which nothing is to be written is said once too, however long it is", async () => {
  const { store, disk, clock, log } = await openResilient();
  disk.failWrites("busy");
  for (let beat = 0; beat < 20; beat += 1) {
    store.heartbeat(clock.now());
    await clock.advance(1_500);
    store.storeProgress(new Map());
    store.adopt(clock.now(), () => true);
    await clock.advance(1_500);
  }
  expect([log.errors.length, log.infos.length]).toEqual([1, 0]);
  disk.heal();
  store.heartbeat(clock.now());
  expect([log.errors.length, log.infos.length]).toEqual([1, 1]);
});

test("after an outage for all, the first to be over it leaves the others their tasks", async () => {
  const folder = temporaryFolder();
  const clock = createVirtualClock(START);
  const first = await openResilient({ folder, clock, owner: ownerOf("first") });
  const second = await openResilient({ folder, clock, owner: ownerOf("second") });
  first.store.commit(scriptTask("ses_1").launch());
  const beat = ({ store }: OpenedStore) => [store.heartbeat(clock.now()), store.adopt(clock.now(), () => true).tasks];
  for (const { disk } of [first, second]) disk.failWrites("full");
  for (let beats = 0; beats < 10; beats += 1) {
    await clock.advance(HEARTBEAT_MS);
    for (const opened of [first, second]) beat(opened);
  }
  second.disk.heal();
  expect(beat(second)).toEqual([[], []]);
  await clock.advance(HEARTBEAT_MS - 1_000);
  first.disk.heal();
  expect(beat(first)).toEqual([[], []]);
  for (let beats = 0; beats < 5; beats += 1) {
    await clock.advance(HEARTBEAT_MS);
    for (const opened of [second, first]) expect(beat(opened)).toEqual([[], []]);
  }
  expect([first.store.isOwnedElsewhere("ses_1"), second.store.isOwnedElsewhere("ses_1")]).toEqual([false, true]);
});

test("a disk that is really full keeps nothing from going on", async () => {
  const { store, disk, path, log } = await openResilient();
  // Deflated, it still takes more pages than there are.
  const prompt = Array.from({ length: 8_000 }, (_, index) => (index * 7_919 ** 2).toString(36)).join(" ");
  const story = scriptTask("ses_1", { prompt });
  disk.database().exec("PRAGMA max_page_count = 1");
  for (const chapter of [story.launch(), story.answer(), story.deliver()]) expect(store.commit(chapter)).toEqual([]);
  expect(store.get("ses_1")).toEqual(story.record());
  expect(log.errors).toHaveLength(1);
  expect(log.errors[0]).toContain("Make room on the disk.");
  disk.database().exec("PRAGMA max_page_count = 100000");
  store.heartbeat(START);
  expect(readFile(path, (file) => file.journal("ses_1"))).toEqual(story.events());
});

test("while another connection writes, a change waits; it is written with the first change a second later", async () => {
  const { store, path, clock, log } = await openResilient();
  const other = openDatabase(path);
  const [story, later, last] = [scriptTask("ses_1"), scriptTask("ses_2"), scriptTask("ses_3")];
  other.exec("BEGIN IMMEDIATE");
  expect(store.commit(story.launch())).toEqual([]);
  expect(store.get("ses_1")).toEqual(story.record());
  other.exec("ROLLBACK");
  store.commit(later.launch());
  expect(readFile(path, (file) => file.list({}))).toEqual([]);
  await clock.advance(1_000);
  store.commit(last.launch());
  expect(readFile(path, (file) => file.list({}))).toHaveLength(3);
  expect([log.errors.length, log.infos.length]).toEqual([1, 1]);
  other.close();
});

test("a file that is locked when it is opened is used as soon as it can be", async () => {
  const folder = temporaryFolder();
  const first = await openResilient({ folder, owner: ownerOf("first") });
  const other = openDatabase(first.path);
  other.exec("BEGIN IMMEDIATE");
  const { store, log, path } = await openResilient({ folder });
  const story = scriptTask("ses_1");
  store.commit(story.launch());
  expect(store.list({})).toEqual([entryOf(story.record().task)]);
  other.exec("ROLLBACK");
  store.heartbeat(START);
  expect(readFile(path, (file) => file.get("ses_1"))).toEqual(story.record());
  expect([log.errors.length, log.infos.length]).toEqual([1, 1]);
  other.close();
});

test("a task that is removed while nothing can be written does not come back", async () => {
  const { store, disk, path } = await openResilient();
  const [live, rested, brief] = [scriptTask("ses_live"), scriptTask("ses_rested"), scriptTask("ses_brief")];
  store.commit(live.launch());
  store.commit(rested.whole());
  disk.failWrites("full");
  store.commit(brief.launch());
  store.remove(["ses_live", "ses_rested", "ses_brief"]);
  expect(store.commit(live.answer())).toEqual(["ses_live"]);
  const nothing = { records: [undefined, undefined, undefined], list: [], journals: [[], [], []] };
  expect(saysOf(["ses_live", "ses_rested", "ses_brief"])(store)).toEqual(nothing);
  disk.heal();
  store.heartbeat(START);
  expect(readFile(path, saysOf(["ses_live", "ses_rested", "ses_brief"]))).toEqual(nothing);
});

test("what another process took meanwhile is lost when the outage is over, and said to be", async () => {
  const { store, disk, path } = await openResilient();
  const [contested, plain, claimed] = [scriptTask("ses_1"), scriptTask("ses_2"), scriptTask("ses_3")];
  store.commit(contested.whole());
  store.commit(claimed.whole());
  disk.failWrites("full");
  expect([store.claim("ses_1"), store.claim("ses_3")]).toEqual([true, true]);
  store.commit(contested.resume());
  store.commit(plain.launch());
  const database = openDatabase(path);
  database.exec("UPDATE task SET owner = 'somebody' WHERE id IN ('ses_1', 'ses_3')");
  database.close();
  disk.heal();
  expect(store.heartbeat(START).toSorted()).toEqual(["ses_1", "ses_3"]);
  expect(store.isOwnedElsewhere("ses_1")).toBe(true);
  expect(store.get("ses_1")?.task.status).toBe("completed");
  expect(store.get("ses_2")).toEqual(plain.record());
});

test("a run that another process has begun and ended meanwhile stays as that process left it", async () => {
  const { store, disk, folder } = await openResilient();
  const other = await openResilient({ folder, owner: ownerOf("other") });
  const stories = ["ses_resumed", "ses_claimed"].map((id) => scriptTask(id));
  for (const story of stories) store.commit(story.whole());
  disk.failWrites("busy");
  expect(stories.map(({ id }) => store.claim(id))).toEqual([true, true]);
  const [resumed] = stories;
  if (resumed) store.commit(resumed.resume());
  const told = ["ses_resumed", "ses_claimed"].map((id) => {
    const story = scriptTask(id);
    story.whole();
    expect(other.store.claim(id)).toBe(true);
    for (const chapter of [story.resume(), story.accept(), story.answer(), story.deliver()])
      other.store.commit(chapter);
    return story;
  });
  disk.heal();
  expect(store.heartbeat(START).toSorted()).toEqual(["ses_claimed", "ses_resumed"]);
  for (const story of told) {
    expect(store.get(story.id)).toEqual(story.record());
    expect(store.journal(story.id)).toEqual(story.events());
  }
});

test("a task that another process took over and ended stays ended, though the file was opened anew since", async () => {
  const { store, disk, folder, clock } = await openResilient();
  const other = await openResilient({ folder, clock, owner: ownerOf("other") });
  const [ended, live] = [scriptTask("ses_ended"), scriptTask("ses_live")];
  store.commit(scriptTask("ses_claimed").whole());
  disk.failWrites("busy");
  expect(store.claim("ses_claimed")).toBe(true);
  disk.heal();
  expect(store.heartbeat(clock.now())).toEqual([]);
  for (const story of [ended, live]) store.commit(story.launch());
  disk.failWrites("contested");
  store.storeProgress(new Map([["ses_ended", noProgress(ended.record().task.startedAt)]]));
  for (let silent = 0; silent <= 2 * LEASE_MS; silent += HEARTBEAT_MS) {
    await clock.advance(HEARTBEAT_MS);
    other.store.heartbeat(clock.now());
  }
  expect(other.store.adopt(clock.now(), () => true).tasks).toHaveLength(3);
  const mine = scriptTask("ses_ended");
  mine.launch();
  store.commit(mine.answer("What nobody needs."));
  for (const chapter of [ended.answer(), ended.deliver()]) other.store.commit(chapter);
  disk.heal();
  expect(store.heartbeat(clock.now()).toSorted()).toEqual(["ses_claimed", "ses_ended", "ses_live"]);
  expect(store.get("ses_ended")).toEqual(ended.record());
});

test("what this process ended itself can be resumed by it while the file was opened anew", async () => {
  const { store, disk, path } = await openResilient();
  const story = scriptTask("ses_1");
  for (const chapter of [story.launch(), story.answer()]) store.commit(chapter);
  disk.failWrites("contested");
  for (const chapter of [story.deliver(), story.resume()]) store.commit(chapter);
  disk.heal();
  expect(store.heartbeat(START)).toEqual([]);
  expect(readFile(path, (file) => file.get("ses_1"))).toEqual(story.record());
});

test("a claim in an outage holds when it is over, and one that was given back does not", async () => {
  const { store, disk, path } = await openResilient();
  for (const id of ["ses_1", "ses_2"]) store.commit(scriptTask(id).whole());
  disk.failWrites("busy");
  expect([store.claim("ses_1"), store.claim("ses_2"), store.claim("ses_3")]).toEqual([true, true, false]);
  store.release("ses_2");
  disk.heal();
  expect(store.heartbeat(START)).toEqual([]);
  expect(readFile(path, (file) => [file.isOwnedElsewhere("ses_1"), file.isOwnedElsewhere("ses_2")])).toEqual([
    true,
    false,
  ]);
  disk.failWrites("busy");
  store.release("ses_1");
  expect(store.claim("ses_1")).toBe(true);
  disk.heal();
  expect(store.heartbeat(START)).toEqual([]);
  expect(readFile(path, (file) => file.isOwnedElsewhere("ses_1"))).toBe(true);
});

test("what is known to be another's cannot be claimed in an outage either", async () => {
  const { store, disk, folder } = await openResilient();
  const other = await openResilient({ folder, owner: ownerOf("other") });
  other.store.commit(scriptTask("ses_1").launch());
  disk.failWrites("full");
  expect(store.claim("ses_1")).toBe(false);
  expect(store.isOwnedElsewhere("ses_1")).toBe(true);
});

test("nothing is said to be elsewhere, or taken over, while that cannot be known", async () => {
  const { store, disk } = await openResilient();
  store.commit(scriptTask("ses_1").launch());
  disk.failReads("other");
  disk.failWrites("other");
  expect(store.isOwnedElsewhere("ses_1")).toBe(false);
  expect(store.adopt(START, () => true)).toEqual({ tasks: [], prompts: [], launches: [] });
  expect(store.get("ses_1")?.task.status).toBe("running");
  expect(store.list({})).toHaveLength(1);
  expect(store.journal("ses_1")).toHaveLength(2);
});

test("what cannot be written until the end is said to be lost", async () => {
  const { store, disk, log } = await openResilient();
  disk.failWrites("full");
  store.commit(scriptTask("ses_1").launch());
  store.close();
  expect(log.errors.at(-1)).toContain("they are lost");
});

test("what can be written at the end is", async () => {
  const { store, disk, log, path } = await openResilient();
  disk.failWrites("full");
  const prompts = [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }];
  store.commit({ ...scriptTask("ses_1").launch(), prompts });
  disk.heal();
  store.close();
  expect(log.errors).toHaveLength(1);
  const adopted = readFile(path, (file) => file.adopt(START, () => true));
  expect([adopted.tasks.length, adopted.prompts.length]).toEqual([1, 1]);
});

/** An action of a runtime or a disk. */
type Act =
  | { type: "step"; task: number }
  | { type: "remove"; task: number }
  | { type: "progress"; task: number; toolCalls: number }
  | { type: "touch"; task: number }
  | { type: "fail"; kind: FaultKind; after: number }
  | { type: "heal" }
  | { type: "beat" };

const task = fc.nat({ max: 3 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant("step" as const), task }) },
  fc.record({ type: fc.constant("remove" as const), task }),
  fc.record({ type: fc.constant("progress" as const), task, toolCalls: fc.nat({ max: 9 }) }),
  fc.record({ type: fc.constant("touch" as const), task }),
  fc.record({
    type: fc.constant("fail" as const),
    kind: fc.constantFrom<FaultKind>("full", "busy", "other"),
    after: fc.nat({ max: 6 }),
  }),
  fc.record({ type: fc.constant("heal" as const) }),
  fc.record({ type: fc.constant("beat" as const) }),
);

test("whatever fails and when: in the end the file says what memory says, and so did the store all the time", async () => {
  const folder = temporaryFolder();
  let count = 0;
  const ids = ["ses_0", "ses_1", "ses_2", "ses_3"];
  const run = async (acts: Act[]) => {
    count += 1;
    const disk = createFaultyDisk(openDatabase);
    const { store, path, clock } = await openResilient({ folder: join(folder, String(count)) }, disk);
    const memory = createMemory().boot(clock);
    const lives = ids.map((id, after) => ({ story: scriptTask(id, { after }), chapter: 0, removed: false }));
    const both = (work: (to: Store) => unknown) => [store, memory].forEach((to) => void work(to));

    const step = (life: (typeof lives)[number]) => {
      if (life.removed || life.chapter > 3) return;
      const chapters: (keyof Pick<ScriptedTask, "launch" | "answer" | "deliver" | "resume">)[] = [
        "launch",
        "answer",
        "deliver",
        "resume",
      ];
      const name = chapters[life.chapter];
      if (!name) return;
      if (name === "resume") expect(store.claim(life.story.id)).toBe(true);
      const change = life.story[name]();
      life.chapter += 1;
      both((to) => expect(to.commit(change)).toEqual([]));
    };

    const perform = (done: Act) => {
      if (done.type === "fail") return disk.failWrites(done.kind, done.after);
      if (done.type === "heal") return disk.heal();
      if (done.type === "beat") return void expect(store.heartbeat(clock.now())).toEqual([]);
      const life = lives[done.task];
      if (!life) return;
      const { id } = life.story;
      if (done.type === "step") return step(life);
      if (done.type === "progress") {
        const progress = { ...noProgress("2026-01-01T00:00:00.000Z"), toolCalls: done.toolCalls };
        return both((to) => to.storeProgress(new Map([[id, progress]])));
      }
      if (done.type === "remove") {
        life.removed = true;
        return both((to) => to.remove([id]));
      }
      if (life.removed || life.chapter !== 3) return;
      expect(store.claim(id)).toBe(true);
      store.release(id);
    };

    for (const done of acts) {
      perform(done);
      expect(saysOf(ids)(store)).toEqual(saysOf(ids)(memory));
      await clock.advance(400);
    }
    disk.heal();
    expect(store.heartbeat(clock.now())).toEqual([]);
    expect(readFile(path, saysOf(ids))).toEqual(saysOf(ids)(memory));
    const live = lives
      .filter(({ chapter, removed }) => !removed && chapter > 0 && chapter !== 3)
      .map(({ story }) => story.id);
    expect(ids.filter((id) => readFile(path, (file) => file.isOwnedElsewhere(id)))).toEqual(live);
    store.close();
  };
  await fc.assert(fc.asyncProperty(fc.array(act, { maxLength: 25 }), run), { numRuns: 80 });
});

test("a request that was left in an outage is written when the process ends, for the one that it is meant for", async () => {
  const { store, disk, folder, clock } = await openResilient();
  const other = await openResilient({ folder, owner: ownerOf("other"), clock });
  other.store.commit(scriptTask("ses_1").launch());
  disk.failWrites("busy");
  store.submitCommand({ id: "req_1", taskId: "ses_1", command: { kind: "cancel" } }, clock.now());
  expect(other.store.takeCommands()).toEqual([]);
  disk.heal();
  store.close();
  expect(other.store.takeCommands().map(({ id }) => id)).toEqual(["req_1"]);
});

test("a clock that is set back in an outage holds nothing up: what changes is written once that works again", async () => {
  const clock = createVirtualClock(START);
  let back = 0;
  const { store, disk, path } = await openResilient({ clock: { ...clock, now: () => clock.now() - back } });
  const story = scriptTask("ses_1");
  disk.failWrites("full");
  store.commit(story.launch());
  back = 3_600_000;
  disk.heal();
  store.commit(story.answer());
  expect(readFile(path, (file) => file.get("ses_1"))).toEqual(story.record());
});

test("to end a launch whose task is stored writes nothing: it ended with that", async () => {
  const { store, disk, log } = await openResilient();
  store.beginLaunch({ messageID: "msg_ses_1", parentSessionID: "ses_parent", at: START, fork: false });
  store.commit(scriptTask("ses_1").launch());
  disk.failWrites("full");
  store.endLaunch("msg_ses_1");
  expect(log.errors).toEqual([]);
});

test("a launch that led to a task in an outage stays on record nowhere, though a person has removed the task since", async () => {
  const { store, disk, path } = await openResilient();
  disk.failWrites("full");
  store.beginLaunch({ messageID: "msg_ses_1", parentSessionID: "ses_parent", at: START, fork: false });
  store.commit(scriptTask("ses_1").launch());
  store.remove(["ses_1"]);
  disk.heal();
  store.close();
  const adopted = readFile(path, (file) => file.adopt(START, () => true));
  // The next process would delete the session of a launch without a task.
  expect([adopted.tasks, adopted.launches]).toEqual([[], []]);
});

test("a prompt that is withdrawn in an outage, and nothing else with it, is gone when the process ends", async () => {
  const { store, disk, path } = await openResilient();
  const withPrompts = (...ids: string[]) => [{ parentSessionID: "ses_parent", prompts: ids.map(noticePrompt) }];
  store.commit({ ...scriptTask("ses_1").launch(), prompts: withPrompts("msg_1") });
  disk.failWrites("full");
  store.commit({ records: [], journal: [], prompts: withPrompts() });
  disk.heal();
  store.close();
  const adopted = readFile(path, (file) => file.adopt(START, () => true));
  expect([adopted.tasks.length, adopted.prompts.length]).toEqual([1, 0]);
});

test("a launch is in the file as soon as it has begun: its process may die before anything else is written", async () => {
  const { store, path } = await openResilient();
  store.beginLaunch({ messageID: "msg_1", parentSessionID: "ses_parent", at: START, fork: false });
  const database = openDatabase(path);
  expect(database.prepare("SELECT message FROM launch").all()).toMatchObject([{ message: "msg_1" }]);
  database.close();
});
