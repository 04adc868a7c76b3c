import { expect, test } from "vitest";
import { afterEvents, answeredTask, queuedTask, workingTask } from "./driven-task.ts";

/** A task that has ended while these tool calls wait for it, in order to tell its end. */
const heldFor = (...calls: string[]) => {
  const task = workingTask();
  for (const call of calls) task.take("WAIT_BEGAN", { call });
  afterEvents(task, "HOST_IDLE", "CHECKED_ANSWERED");
  return task;
};

test("of two calls that wait for the end, one that is aborted leaves the delivery to the other", () => {
  const task = heldFor("call_1", "call_2");
  expect(task.take("WAIT_ABANDONED", { call: "call_1" })).toEqual([]);
  expect(task.snapshot.value.notice).toBe("held");
  expect(task.take("WAIT_ABANDONED", { call: "call_2" })).toMatchObject([{ type: "queueNotice" }]);
});

test("only a call that waits for the end can have delivered it", () => {
  const task = heldFor("call_1");
  expect(task.refuses("WAIT_DELIVERED", { call: "call_of_another" })).toBe(true);
  task.take("WAIT_DELIVERED", { call: "call_1" });
  expect(task.snapshot.value.notice).toBe("none");
});

test("a call that begins to wait before the notice is formed has it withdrawn, and delivers the end itself", () => {
  const task = answeredTask();
  expect(task.take("WAIT_BEGAN")).toEqual([
    { type: "withdrawNotice", taskId: "ses_child", parentSessionID: "ses_parent", run: 0 },
  ]);
  expect(task.take("WAIT_DELIVERED")).toEqual([]);
  expect(task.snapshot.value.notice).toBe("none");
});

test("a process that takes over owes the end once more, unless it took over the prompt that carries it", () => {
  const carried = afterEvents(answeredTask(), "NOTICE_COMPOSED");
  expect(carried.take("ADOPTED", { isNoticePending: true })).toEqual([]);
  expect(carried.snapshot.value.notice).toBe("sending");
  expect(carried.take("ADOPTED", { isNoticePending: false })).toMatchObject([{ type: "queueNotice" }]);
  expect(answeredTask().take("ADOPTED", { isNoticePending: true })).toMatchObject([{ type: "queueNotice" }]);
});

test("a call that let go waits no longer, and cannot let go twice", () => {
  const task = heldFor("call_1");
  task.take("WAIT_ABANDONED", { call: "call_1" });
  expect(task.snapshot.context.waiters).toEqual([]);
  const running = workingTask();
  expect(running.refuses("WAIT_ABANDONED", { call: "call_1" })).toBe(true);
});

test("an end that cannot be delivered is owed no longer, whether it is composed or not", () => {
  const composed = afterEvents(answeredTask(), "NOTICE_COMPOSED");
  for (const task of [answeredTask(), composed]) {
    expect(task.take("NOTICE_DROPPED")).toEqual([]);
    expect(task.snapshot.value.notice).toBe("none");
    expect(task.refuses("RESUME")).toBe(false);
  }
});

test("a notice says how its task wakes the parent, and why a run was cancelled that did not stop", () => {
  const batch = queuedTask({ wake: "all" });
  expect(batch.take("CANCEL")).toMatchObject([{ type: "queueNotice", end: { wake: "all", outcome: "cancelled" } }]);
  const each = queuedTask();
  const [notice] = each.take("CANCEL");
  expect(notice).not.toHaveProperty("end.wake");
  expect(notice).not.toHaveProperty("end.error");
});
