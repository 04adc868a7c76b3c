import { describe, expect, test } from "vitest";
import { slotRequestOf } from "../../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS, type LimitedRequest, type SlotLimits } from "../../../src/machines/task/slot-queue.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../../../src/services/store/ownership.ts";
import type { SqliteStore } from "../../../src/services/store/sqlite/sqlite-store.ts";
import { type ScriptedTask, START, scriptTask } from "./scripted-task.ts";
import { createSharedDatabase } from "./shared-database.ts";

const TWO = { total: 2 };

const request = (
  task: ScriptedTask,
  limits: SlotLimits = TWO,
  given: Partial<LimitedRequest> = {},
): LimitedRequest => ({
  ...slotRequestOf(task.record().snapshot.context),
  limits,
  ...given,
});

const tasks = (...ids: string[]) => ids.map((id, index) => scriptTask(id, { after: index }));

/** Has a task ask for a slot, and stores that it is launched, or that it waits. Returns whether it has one. */
const launch = (store: SqliteStore, task: ScriptedTask, limits?: SlotLimits): boolean => {
  const isGranted = store.grantSlots([request(task, limits)]).length > 0;
  store.commit(isGranted ? task.launch() : { records: [task.record()], journal: [], prompts: [] });
  return isGranted;
};

const slotsIn = (file: ReturnType<typeof createSharedDatabase>) =>
  file.rows<{ task: string; owner: string; state: number }>("SELECT task, owner, state FROM slot ORDER BY seq");

test("two processes share a limit, and a slot that one frees is taken by the oldest that waits, whoever has it", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [first, second, third, fourth] = tasks("ses_1", "ses_2", "ses_3", "ses_4") as [
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
  ];
  expect([launch(a, first), launch(b, second), launch(b, third), launch(a, fourth)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([...a.places(["ses_1", "ses_2", "ses_3", "ses_4"])].map(([taskId, { place }]) => [taskId, place])).toEqual([
    ["ses_3", 1],
    ["ses_4", 2],
  ]);
  a.commit(first.answer());
  expect(a.grantSlots([request(fourth)])).toEqual([]);
  expect(b.grantSlots([request(third)])).toEqual(["ses_3"]);
  b.commit(second.answer());
  expect(a.grantSlots([request(fourth)])).toEqual(["ses_4"]);
});

test("a slot is held from the grant on, before its task is stored, and given to nobody else", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [first, second] = tasks("ses_1", "ses_2") as [ScriptedTask, ScriptedTask];
  expect(a.grantSlots([request(first, { total: 1 })])).toEqual(["ses_1"]);
  expect(b.grantSlots([request(second, { total: 1 })])).toEqual([]);
  expect(a.grantSlots([request(first, { total: 1 })])).toEqual(["ses_1"]);
});

test("the row of a slot goes when the run ends, or its task is removed by any process", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [first, second] = tasks("ses_1", "ses_2") as [ScriptedTask, ScriptedTask];
  launch(a, first);
  launch(a, second);
  expect(slotsIn(file)).toHaveLength(2);
  a.commit(first.answer());
  expect(slotsIn(file)).toEqual([{ task: "ses_2", owner: "a", state: 1 }]);
  b.remove(["ses_2"]);
  expect(slotsIn(file)).toEqual([]);
});

test("a run whose task was removed elsewhere leaves no slot, though its process asks for one before it learns of that", () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const task = scriptTask("ses_1");
  a.commit({ records: [task.record()], journal: [], prompts: [] });
  b.remove(["ses_1"]);
  expect(a.grantSlots([request(task)])).toEqual(["ses_1"]);
  expect(a.commit(task.launch())).toEqual(["ses_1"]);
  expect(slotsIn(file)).toEqual([]);
  a.grantSlots([request(task)]);
  a.heartbeat(file.clock.now());
  expect(slotsIn(file)).toEqual([]);
});

test("nor does one whose task was taken over and has ended elsewhere, though its process asks on waking", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a").store, file.openAs("b").store];
  const [first, second] = tasks("ses_1", "ses_2") as [ScriptedTask, ScriptedTask];
  const ONE = { total: 1 };
  expect([launch(a, first, ONE), launch(a, second, ONE)]).toEqual([true, false]);
  for (let passed = 0; passed <= LEASE_MS; passed += HEARTBEAT_MS) {
    await file.clock.advance(HEARTBEAT_MS);
    b.heartbeat(file.clock.now());
  }
  expect(b.adopt(file.clock.now(), () => true).tasks).toHaveLength(2);
  b.commit(first.answer());
  expect(b.grantSlots([request(second, ONE)])).toEqual(["ses_2"]);
  for (const chapter of [second.launch(), second.answer()]) b.commit(chapter);
  expect(a.grantSlots([request(second, ONE)])).toEqual([]);
  expect(a.heartbeat(file.clock.now()).toSorted()).toEqual(["ses_1", "ses_2"]);
  expect(slotsIn(file)).toEqual([]);
});

test("slots of the dead count for nothing, and go with the tasks to the process that takes them over", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b").store];
  const [first, second, third] = tasks("ses_1", "ses_2", "ses_3") as [ScriptedTask, ScriptedTask, ScriptedTask];
  const ONE = { total: 1 };
  launch(a.store, first, ONE);
  expect(launch(a.store, second, ONE)).toBe(false);
  expect(launch(b, third, ONE)).toBe(false);
  a.kill();
  await file.clock.advance(10_000);
  b.heartbeat(file.clock.now());
  expect([...b.places(["ses_1", "ses_2", "ses_3"]).keys()]).toEqual(["ses_3"]);
  b.adopt(file.clock.now(), () => true);
  expect(slotsIn(file).map(({ owner, state }) => [owner, state])).toEqual([
    ["b", 1],
    ["b", 0],
    ["b", 0],
  ]);
  expect(b.grantSlots([request(second, ONE), request(third, ONE)])).toEqual([]);
});

test("what a living process has waiting keeps no room from others once it is silent, and what it has at work does", async () => {
  const file = createSharedDatabase();
  const patient = { takesOverAfter: 300_000 };
  const [a, b] = [file.openAs("a", patient).store, file.openAs("b", patient).store];
  const [first, second, third, fourth] = tasks("ses_1", "ses_2", "ses_3", "ses_4") as [
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
  ];
  expect([launch(b, first), launch(a, second), launch(a, third), launch(b, fourth)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  b.commit(first.answer());
  const isFourth = (taskId: string) => taskId === "ses_4";
  for (let passed = 0; passed < LEASE_MS; passed += HEARTBEAT_MS) {
    await file.clock.advance(HEARTBEAT_MS);
    b.heartbeat(file.clock.now());
  }
  expect(b.startQueued(isFourth)).toEqual([]);
  await file.clock.advance(HEARTBEAT_MS);
  b.heartbeat(file.clock.now());
  expect(b.startQueued(isFourth)).toEqual(["ses_4"]);
  b.commit(fourth.launch());
  expect(b.adopt(file.clock.now(), () => true).tasks).toEqual([]);
  expect(launch(b, scriptTask("ses_5", { after: 9 }))).toBe(false);
  a.heartbeat(file.clock.now());
  b.commit(fourth.answer());
  expect(b.startQueued((taskId) => taskId === "ses_5")).toEqual([]);
  expect(a.startQueued((taskId) => taskId === "ses_3")).toEqual(["ses_3"]);
});

test("the process that takes over runs which wait goes by its own limits, be they lower or higher", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b").store];
  const [first, second, third] = tasks("ses_1", "ses_2", "ses_3") as [ScriptedTask, ScriptedTask, ScriptedTask];
  expect([first, second, third].map((task) => launch(a.store, task, TWO))).toEqual([true, true, false]);
  a.kill();
  await file.clock.advance(10_000);
  b.heartbeat(file.clock.now());
  b.adopt(file.clock.now(), () => true);
  b.commit(first.answer());
  expect(b.grantSlots([request(third, { total: 1 })])).toEqual([]);
  expect(b.places(["ses_3"]).get("ses_3")).toMatchObject({ heldUpBy: { limit: 1 } });
  expect(b.grantSlots([request(third, { total: 3 })])).toEqual(["ses_3"]);
});

test("a process that dies between the grant and the launch's storing leaves a slot that nobody counts, and that is removed", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b").store];
  const [first, second, third] = tasks("ses_1", "ses_2", "ses_3") as [ScriptedTask, ScriptedTask, ScriptedTask];
  launch(a.store, third, { total: 9 });
  a.store.grantSlots([request(first, { total: 9 })]);
  a.kill();
  await file.clock.advance(10_000);
  b.heartbeat(file.clock.now());
  expect(launch(b, second, { total: 1 })).toBe(true);
  b.adopt(file.clock.now(), () => true);
  expect(slotsIn(file).map(({ task }) => task)).toEqual(["ses_3", "ses_2"]);
});

test("a grant that was not noted before the crash is none: the run asks again where it is taken over", async () => {
  const file = createSharedDatabase();
  const [a, b] = [file.openAs("a"), file.openAs("b").store];
  const task = scriptTask("ses_1");
  a.store.commit({ records: [task.record()], journal: [], prompts: [] });
  a.store.grantSlots([request(task)]);
  a.kill();
  await file.clock.advance(10_000);
  b.heartbeat(file.clock.now());
  b.adopt(file.clock.now(), () => true);
  expect(slotsIn(file)).toEqual([{ task: "ses_1", owner: "b", state: 0 }]);
});

test("a transaction that fails is forgotten: the next change of the task writes its slot again", () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("a");
  const task = scriptTask("ses_1");
  launch(store, task);
  expect(() => store.commit({ ...task.answer(), prompts: [undefined as never] })).toThrow();
  expect(slotsIn(file)).toHaveLength(1);
  store.commit({ records: [task.record()], journal: [], prompts: [] });
  expect(slotsIn(file)).toEqual([]);
});

describe("a run that goes on with another model", () => {
  const m2 = { model: { providerID: "p", modelID: "m2" } };
  const limits = (total: number): SlotLimits => ({ total, model: 1 });
  const goesOn = (task: ScriptedTask, of: SlotLimits) =>
    request(task, of, { provider: "p", model: "p/m2", goesOn: true });

  test("waits while the limit of that model is used up, and the slot that it had is free for others", () => {
    const file = createSharedDatabase();
    const [a, b] = [file.openAs("a").store, file.openAs("b").store];
    const [first, second, third] = [scriptTask("ses_1"), scriptTask("ses_2", { after: 1, ...m2 }), scriptTask("ses_3")];
    expect([launch(a, first, limits(2)), launch(b, second, limits(2)), launch(b, third, limits(2))]).toEqual([
      true,
      true,
      false,
    ]);
    expect(a.grantSlots([goesOn(first, limits(2))])).toEqual([]);
    const heldUpBy = { kind: "model", name: "p/m2", used: 1, limit: 1 };
    expect(b.places(["ses_1"]).get("ses_1")).toEqual({ place: 1, heldUpBy });
    expect(b.grantSlots([request(third, limits(2))])).toEqual(["ses_3"]);
    b.commit(third.launch());
    b.commit(second.answer());
    expect(a.grantSlots([goesOn(first, limits(2))])).toEqual(["ses_1"]);
  });

  test("in another process, which took it over, keeps its slot there when the first one wakes and asks", async () => {
    const file = createSharedDatabase();
    const [a, b] = [file.openAs("a").store, file.openAs("b").store];
    const [first, second] = tasks("ses_1", "ses_2") as [ScriptedTask, ScriptedTask];
    expect([launch(a, first, limits(1)), launch(a, second, limits(1))]).toEqual([true, false]);
    for (let passed = 0; passed <= LEASE_MS; passed += HEARTBEAT_MS) {
      await file.clock.advance(HEARTBEAT_MS);
      b.heartbeat(file.clock.now());
    }
    b.adopt(file.clock.now(), () => true);
    expect(a.grantSlots([goesOn(first, limits(1))])).toEqual([]);
    a.heartbeat(file.clock.now());
    expect(slotsIn(file)).toEqual([
      { task: "ses_1", owner: "b", state: 1 },
      { task: "ses_2", owner: "b", state: 0 },
    ]);
    expect(b.grantSlots([request(second, limits(1))])).toEqual([]);
  });

  test("keeps its slot where there is room, for it is older than those that wait", () => {
    const file = createSharedDatabase();
    const { store } = file.openAs("a");
    const [first, second] = tasks("ses_1", "ses_2") as [ScriptedTask, ScriptedTask];
    expect([launch(store, first, limits(1)), launch(store, second, limits(1))]).toEqual([true, false]);
    expect(store.grantSlots([goesOn(first, limits(1))])).toEqual(["ses_1"]);
    expect(store.grantSlots([request(second, limits(1))])).toEqual([]);
  });
});

describe("while a provider refuses a task for now", () => {
  const model = (providerID: string) => ({ model: { providerID, modelID: "m1" } });
  const onProvider = (id: string, providerID: string, after = 0) => scriptTask(id, { after, ...model(providerID) });
  const NINE = { total: 9 };

  test("no process starts another one on it, until it is answered", () => {
    const file = createSharedDatabase();
    const [a, b] = [file.openAs("a").store, file.openAs("b").store];
    const [refused, second, other] = [onProvider("ses_1", "p"), onProvider("ses_2", "p"), onProvider("ses_3", "q")];
    launch(a, refused, NINE);
    a.commit(refused.refuse(START + 5_000));
    expect([launch(b, second, NINE), launch(b, other, NINE)]).toEqual([false, true]);
    expect(a.places(["ses_2"]).get("ses_2")).toEqual({
      place: 1,
      heldUpBy: { kind: "rateLimit", name: "p", until: new Date(START + 5_000).toISOString() },
    });
    a.commit(refused.askAgain());
    expect(b.grantSlots([request(second, NINE)])).toEqual([]);
    a.commit(refused.hearAnswer());
    expect(b.grantSlots([request(second, NINE)])).toEqual(["ses_2"]);
  });

  test("the wait ends a moment after that time, though the one that is refused has not been asked again", async () => {
    const file = createSharedDatabase();
    const { store } = file.openAs("a");
    const [refused, second] = [onProvider("ses_1", "p"), onProvider("ses_2", "p")];
    launch(store, refused, NINE);
    store.commit(refused.refuse(START + 5_000));
    expect(launch(store, second, NINE)).toBe(false);
    await file.clock.advance(4_999 + GOES_AHEAD_MS);
    expect(store.grantSlots([request(second, NINE)])).toEqual([]);
    await file.clock.advance(1);
    expect(store.grantSlots([request(second, NINE)])).toEqual(["ses_2"]);
  });

  test.each(["dies", "is taken over", "ends"] as const)(
    "the wait ends when the one that is refused %s",
    async (how) => {
      const file = createSharedDatabase();
      const [a, b] = [file.openAs("a"), file.openAs("b").store];
      const [refused, second] = [onProvider("ses_1", "p"), onProvider("ses_2", "p")];
      launch(a.store, refused, NINE);
      a.store.commit(refused.refuse(START + 3_600_000));
      expect(launch(b, second, NINE)).toBe(false);
      if (how === "ends") a.store.commit(refused.answer());
      else {
        a.kill();
        await file.clock.advance(10_000);
        b.heartbeat(file.clock.now());
        if (how === "is taken over") b.adopt(file.clock.now(), () => true);
      }
      expect(b.grantSlots([request(second, NINE)])).toEqual(["ses_2"]);
    },
  );
});
