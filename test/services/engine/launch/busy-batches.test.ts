import { expect, test } from "vitest";
import { endedBatches } from "../../../../src/services/engine/effects/outbox-effects.ts";
import { createLaunchesUnderWay } from "../../../../src/services/engine/launch/launches-under-way.ts";
import { createMemory } from "../../../fakes/disk.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";
import { type ScriptedTask, START, scriptTask } from "../../store/scripted-task.ts";

const PARENT = "ses_parent";

const setUp = (isHeadless = false) => {
  const memory = createMemory();
  memory.keepAlive();
  const store = memory.boot(createVirtualClock(START));
  const launches = createLaunchesUnderWay();
  const [first, second] = [scriptTask("ses_1"), scriptTask("ses_2")];
  for (const task of [first, second]) store.commit(task.launch());
  const { batchId } = first.record().task;
  const end = (task: ScriptedTask) => store.commit(task.answer());
  const ended = () => endedBatches({ store, launches, options: { isHeadless } }, PARENT, [batchId, "batch_other"]);
  return { store, launches, batchId, first, second, end, ended };
};

test("a batch has ended with the last of its tasks, and one without tasks has", () => {
  const { first, second, end, ended, batchId } = setUp();
  expect(ended()).toEqual(["batch_other"]);
  end(first);
  expect(ended()).toEqual(["batch_other"]);
  end(second);
  expect(ended()).toEqual([batchId, "batch_other"]);
});

test("a launch that is under way is work of its batch, and of no other parent's batch of that name", async () => {
  const { launches, batchId, first, second, end, ended } = setUp();
  for (const task of [first, second]) end(task);
  const { promise, resolve } = Promise.withResolvers<void>();
  const stored = launches.during(PARENT, (launch) => {
    launch.batchId = batchId;
    return promise;
  });
  void launches.during("ses_elsewhere", async (launch) => {
    launch.batchId = "batch_other";
    await promise;
  });
  expect(ended()).toEqual(["batch_other"]);
  resolve();
  await stored;
  expect(ended()).toEqual([batchId, "batch_other"]);
});

test("a task that waits for a person, is looked after by nobody, or cannot be read is not waited for", () => {
  const { store, first, second, end, ended, batchId } = setUp();
  end(first);
  const { get, isAttended } = store;
  store.isAttended = () => false;
  expect(ended()).toEqual([batchId, "batch_other"]);
  store.isAttended = isAttended;
  store.get = () => undefined;
  expect(ended()).toEqual([batchId, "batch_other"]);
  store.get = (id) => {
    const record = get(id);
    const attention = { kind: "stale", what: "", since: new Date(START).toISOString() } as const;
    return record && { ...record, task: { ...record.task, attention } };
  };
  expect(ended()).toEqual([batchId, "batch_other"]);
  store.get = get;
  expect(ended()).toEqual(["batch_other"]);
  expect(second.id).toBe("ses_2");
});

test("nobody waits for a batch where the host ends with its agent's answer", () => {
  const { ended, batchId } = setUp(true);
  expect(ended()).toEqual([batchId, "batch_other"]);
});
