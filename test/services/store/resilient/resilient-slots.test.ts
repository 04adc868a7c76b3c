import { expect, onTestFinished, test } from "vitest";
import { slotRequestOf } from "../../../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS } from "../../../../src/machines/task/slot-queue.ts";
import { HEARTBEAT_MS, LEASE_MS } from "../../../../src/services/store/ownership.ts";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { createSqliteStore } from "../../../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../../../src/services/store/store.ts";
import { ownerOf } from "../owners.ts";
import { type ScriptedTask, START, scriptTask } from "../scripted-task.ts";
import { openResilient, readFile } from "./open-resilient.ts";

const request = (task: ScriptedTask) => ({
  ...slotRequestOf(task.record().snapshot.context),
  limits: { total: 2 },
});

/** Has a task ask for a slot, and stores that it is launched, or that it waits. Returns whether it has one. */
const launch = (store: Store, task: ScriptedTask): boolean => {
  const isGranted = store.grantSlots([request(task)]).length > 0;
  store.commit(isGranted ? task.launch() : { records: [task.record()], journal: [], prompts: [] });
  return isGranted;
};

const placesIn = (store: Store) =>
  [...store.places(["ses_1", "ses_2", "ses_3", "ses_4"])].map(([taskId, { place }]) => [taskId, place]);

test("while the file cannot be used, the limits hold among the tasks of this process, and afterwards in the file", async () => {
  const { store, disk, path } = await openResilient();
  const [first, second, third, fourth] = [1, 2, 3, 4].map((n) => scriptTask(`ses_${n}`, { after: n })) as [
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
  ];
  expect(launch(store, first)).toBe(true);
  disk.failWrites("full");
  disk.failReads("other");
  expect([launch(store, second), launch(store, third), launch(store, fourth)]).toEqual([true, false, false]);
  expect(placesIn(store)).toEqual([
    ["ses_3", 1],
    ["ses_4", 2],
  ]);
  store.commit(first.answer());
  expect(store.grantSlots([request(third), request(fourth)])).toEqual(["ses_3"]);
  store.commit(third.launch());
  disk.heal();
  store.heartbeat(START);
  expect(store.grantSlots([request(fourth)])).toEqual([]);
  expect(placesIn(store)).toEqual([["ses_4", 1]]);
  expect(
    readFile(path, (file) => file.grantSlots([{ ...request(scriptTask("ses_9")), limits: { total: 3 } }])),
  ).toEqual(["ses_9"]);
});

test("a slot that is granted in an outage is held before its task is stored", async () => {
  const { store, disk } = await openResilient();
  disk.failWrites("full");
  const tasks = [1, 2, 3].map((n) => scriptTask(`ses_${n}`));
  expect(tasks.map((task) => store.grantSlots([request(task)]).length)).toEqual([1, 1, 0]);
});

test("in an outage, too, no task starts on a provider that refuses another one for now", async () => {
  const { store, disk, clock } = await openResilient();
  disk.failWrites("full");
  disk.failReads("other");
  const model = { providerID: "p", modelID: "m1" };
  const [refused, second] = [scriptTask("ses_1", { model }), scriptTask("ses_2", { model })];
  launch(store, refused);
  const until = clock.now() + 5_000;
  store.commit(refused.refuse(until));
  expect(launch(store, second)).toBe(false);
  expect(store.places(["ses_2"]).get("ses_2")?.heldUpBy).toMatchObject({ kind: "rateLimit", name: "p" });
  await clock.advance(5_000 + GOES_AHEAD_MS - 1);
  expect(store.grantSlots([request(second)])).toEqual([]);
  await clock.advance(1);
  expect(store.grantSlots([request(second)])).toEqual(["ses_2"]);
});

/** A store that has one run at work and one that waits, and is silent until a process of another machine has taken both over. */
const openTakenOver = async () => {
  const opened = await openResilient();
  const { store, clock, path } = opened;
  const ONE = { total: 1 };
  const [first, second, third] = [1, 2, 3].map((n) => scriptTask(`ses_${n}`, { after: n })) as [
    ScriptedTask,
    ScriptedTask,
    ScriptedTask,
  ];
  store.grantSlots([{ ...request(first), limits: ONE }]);
  store.commit(first.launch());
  expect(store.grantSlots([{ ...request(second), limits: ONE }])).toEqual([]);
  store.commit({ records: [second.record()], journal: [], prompts: [] });
  const owner = ownerOf("other", { machine: "there" });
  const other = createSqliteStore({ database: loadSqlite()(path), owner, now: clock.now });
  onTestFinished(() => other.close());
  return {
    ...opened,
    other,
    tasks: [first, second],
    /** The other process takes both over, and both end there. */
    takeOver: async () => {
      // Of a process of another machine, only what is seen of it counts: so it must have been looked at before.
      expect(other.isAlone()).toBe(false);
      for (let passed = 0; passed <= LEASE_MS; passed += HEARTBEAT_MS) {
        await clock.advance(HEARTBEAT_MS);
        other.heartbeat(clock.now());
      }
      expect(other.adopt(clock.now(), () => true).tasks).toHaveLength(2);
      other.commit(first.answer());
      expect(other.grantSlots([{ ...request(second), limits: ONE }])).toEqual(["ses_2"]);
      for (const chapter of [second.launch(), second.answer()]) other.commit(chapter);
    },
    /** Returns whether a run that asks now has a slot: nothing else is at work, or waits. */
    hasRoom: () => store.grantSlots([{ ...request(third), limits: ONE }]).length === 1,
  };
};

test("what was taken over waits here no more, though the file cannot be read for a moment after that is known", async () => {
  const { store, other, clock, disk, takeOver, hasRoom } = await openTakenOver();
  await takeOver();
  expect(store.heartbeat(clock.now()).toSorted()).toEqual(["ses_1", "ses_2"]);
  other.remove(["ses_1", "ses_2"]);
  disk.failReads("other");
  store.places(["ses_2"]);
  disk.heal();
  await clock.advance(HEARTBEAT_MS);
  store.heartbeat(clock.now());
  expect(hasRoom()).toBe(true);
});

test("nor where that is not known yet when the file can be used again", async () => {
  const { store, disk, takeOver, hasRoom } = await openTakenOver();
  disk.failReads("other");
  store.places(["ses_2"]);
  await takeOver();
  disk.heal();
  expect(hasRoom()).toBe(true);
});

test("nor, from the next heartbeat on, where others have removed it before that is known", async () => {
  const { store, other, tasks, clock, disk, takeOver, hasRoom } = await openTakenOver();
  disk.failWrites("full");
  disk.failReads("other");
  const [, second] = tasks;
  if (!second) throw new Error("there is no second task");
  store.commit({ records: [second.record()], journal: [], prompts: [] });
  store.places(["ses_2"]);
  await takeOver();
  other.remove(["ses_1", "ses_2"]);
  disk.heal();
  expect(store.startQueued(() => false)).toEqual([]);
  store.heartbeat(clock.now());
  expect(hasRoom()).toBe(true);
});
