import { expect, test } from "vitest";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, completeAndTell, type DrivenTask, resume, workingTask } from "./driven-task.ts";

const told = (): DrivenTask => completeAndTell(workingTask());

test("the answer to a resume is unread, though the one before was read", () => {
  const task = afterEvents(told(), "RESULT_READ");
  expect(task.snapshot.context.resultRetrievedAt).toBeDefined();
  completeAndTell(resume(task), "13");
  expect(task.snapshot.context).toMatchObject({ result: "13", resultRetrievedAt: undefined });
});

test("a resume waits until no tool call waits for the end of the run before, or reads it", () => {
  const task = workingTask();
  for (const call of ["call_1", "call_2"]) task.take("WAIT_BEGAN", { call });
  afterEvents(task, "HOST_IDLE", "CHECKED_ANSWERED");
  task.take("WAIT_DELIVERED", { call: "call_1" });
  expect(task.snapshot.value.notice).toBe("none");
  expect(task.refuses("RESUME")).toBe(true);
  task.take("WAIT_DELIVERED", { call: "call_2" });
  expect(task.refuses("RESUME")).toBe(false);
});

test("a resumed run began when it was resumed, and its notice says so", () => {
  const task = told();
  task.take("RESUME", { at: START + 60_000 });
  expect(task.take("CANCEL")).toMatchObject([
    { type: "queueNotice", end: { run: 1, startedAt: START + 60_000, endedAt: START + 60_000 } },
  ]);
});

test("the notice of a cancelled resume does not carry the result of the run before", () => {
  const task = resume(told());
  task.take("CANCEL");
  const [tell] = task.take("STOPPED");
  expect(tell).toMatchObject({ type: "queueNotice", end: { run: 1, outcome: "cancelled" } });
  expect(tell?.type === "queueNotice" && tell.end).not.toHaveProperty("result");
});
