import { expect, test } from "vitest";
import { slotRequestOf } from "../../../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS } from "../../../../src/machines/task/slot-queue.ts";
import type { Store } from "../../../../src/services/store/store.ts";
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
