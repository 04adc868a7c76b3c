import { expect, test } from "vitest";
import { transition } from "xstate";
import { initialSnapshot, type TaskSnapshot, taskMachine } from "../../../src/machines/task/machine.ts";
import { createTaskIndex } from "../../../src/services/runtime/chart-index.ts";
import { taskInput } from "../../fakes/task-input.ts";

const snapshotOf = (id: string, facts: Parameters<typeof taskInput>[1]) =>
  taskMachine.resolveState(initialSnapshot(taskInput(id, facts)));

test("a parent has tasks until the last of them is gone, however often each took a step", () => {
  const live = createTaskIndex();
  for (const id of ["ses_1", "ses_2", "ses_1", "ses_1"]) live.set(snapshotOf(id, { parentSessionID: "ses_parent" }));
  expect(live.snapshots.size).toBe(2);
  live.delete("ses_1");
  live.delete("ses_1");
  expect(live.hasTasksOf("ses_parent")).toBe(true);
  live.delete("ses_2");
  expect(live.hasTasksOf("ses_parent")).toBe(false);
});

test("a task awaits those that it launched, and those of sessions below it, which are delivered to their own parents", () => {
  const live = createTaskIndex();
  live.set(snapshotOf("ses_own", { parentSessionID: "ses_lead", parentTaskId: "ses_lead" }));
  live.set(snapshotOf("ses_below", { parentSessionID: "ses_helper", parentTaskId: "ses_lead" }));
  expect(live.awaitsTasks("ses_helper")).toBe(true);
  live.delete("ses_own");
  expect(live.awaitsTasks("ses_lead")).toBe(true);
  expect(live.hasTasksOf("ses_lead")).toBe(false);
  live.delete("ses_below");
  expect(live.awaitsTasks("ses_lead")).toBe(false);
  expect(live.awaitsTasks("ses_helper")).toBe(false);
});

test("tasks are found by their parent session, and those below by the task that awaits them, each once", () => {
  const live = createTaskIndex();
  live.set(snapshotOf("ses_own", { parentSessionID: "ses_lead", parentTaskId: "ses_lead" }));
  live.set(snapshotOf("ses_below", { parentSessionID: "ses_helper", parentTaskId: "ses_lead" }));
  live.set(snapshotOf("ses_other", { parentSessionID: "ses_parent" }));
  const ids = (snapshots: TaskSnapshot[]) => snapshots.map(({ context }) => context.facts.sessionID);
  expect(ids(live.of("ses_lead"))).toEqual(["ses_own"]);
  expect(ids(live.awaitedBy("ses_lead"))).toEqual(["ses_own", "ses_below"]);
  expect(ids(live.of("ses_nobody"))).toEqual([]);
  live.delete("ses_below");
  expect(ids(live.awaitedBy("ses_lead"))).toEqual(["ses_own"]);
});

test("a task does more than wait for a slot once it has one, or when it is silent or asks something", () => {
  const live = createTaskIndex();
  const queued = snapshotOf("ses_1", {});
  live.set(queued);
  expect(live.active()).toEqual([]);
  const [atWork] = transition(taskMachine, queued, { type: "SLOT_GRANTED", at: 0 });
  live.set(atWork);
  expect(live.active()).toEqual([atWork]);
  live.set(queued);
  expect(live.active()).toEqual([]);
  const asks = taskMachine.resolveState({ ...queued, value: { ...queued.value, attention: "stale" } });
  live.set(asks);
  expect(live.active()).toEqual([asks]);
  live.delete("ses_1");
  expect(live.active()).toEqual([]);
});
