import { expect, test } from "vitest";
import { lifecyclePath } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { START } from "../../fakes/task-input.ts";
import { completeAndTell, cutOff, type DrivenTask, failChecks, resend, resume, workingTask } from "./driven-task.ts";

const told = (): DrivenTask => completeAndTell(workingTask());

test("the answer to a resume is unread, though the one before was read", () => {
  const task = told();
  task.take("RESULT_READ");
  expect(task.snapshot.context.resultRetrievedAt).toBeDefined();
  completeAndTell(resume(task), "13");
  expect(task.snapshot.context).toMatchObject({ result: "13", resultRetrievedAt: undefined });
});

test("a resume waits until no tool call waits for the end of the run before, or reads it", () => {
  const task = workingTask();
  for (const call of ["call_1", "call_2"]) task.take("WAIT_BEGAN", { call });
  task.take("HOST_IDLE");
  task.take("CHECKED_ANSWERED");
  task.take("WAIT_DELIVERED", { call: "call_1" });
  expect(task.snapshot.value.notice).toBe("none");
  expect(task.refuses("RESUME")).toBe(true);
  task.take("WAIT_DELIVERED", { call: "call_2" });
  expect(task.refuses("RESUME")).toBe(false);
});

test("a resumed run is continued after a crash, however often the one before was cut off", () => {
  const task = workingTask();
  for (let time = 0; time < TASK_LIMITS.interruptions; time += 1) cutOff(task);
  task.take("PROMPT_ACCEPTED");
  resume(completeAndTell(task));
  cutOff(task);
  expect(lifecyclePath(task.snapshot)).toBe("resumed.sending");
});

test("a resumed run is not blamed for an error of the run before", () => {
  const task = workingTask();
  task.take("HOST_ERROR");
  resume(completeAndTell(task));
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", hostError: undefined }]);
});

test("a resumed run counts the checks without an answer anew", () => {
  const task = workingTask();
  failChecks(task, TASK_LIMITS.failedChecks - 1);
  resume(completeAndTell(task));
  failChecks(task, TASK_LIMITS.failedChecks - 1);
  expect(lifecyclePath(task.snapshot)).toBe("resumed.working");
});

test("a resumed run has all its sends before it, however often the prompt before was lost", () => {
  const task = workingTask();
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  resume(completeAndTell(task));
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  expect(lifecyclePath(task.snapshot)).toBe("resumed.working");
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
