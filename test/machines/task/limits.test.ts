import { expect, test } from "vitest";
import { lifecyclePath, refusalReason, statusOf } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, completeAndTell, type DrivenTask, queuedTask, resume, workingTask } from "./driven-task.ts";

const error = { name: "BudgetExceeded", kind: "budget", message: "used 41 of 40 tool calls" } as const;
const fault = { name: "StillRunning", kind: "host", message: "it still runs" } as const;

const beyondLimit = (task: DrivenTask, said?: string) => task.take("LIMIT_EXCEEDED", { error, said });

const endsWith = (error: object, result?: string) => [
  { type: "queueNotice", end: { outcome: "error", error, ...(result === undefined ? {} : { result }) } },
];

test("a run beyond a limit is stopped, and then ends in the limit's error, with what was said as its result", () => {
  const task = workingTask();
  expect(beyondLimit(task, "half of it")).toMatchObject([{ type: "stopSession", taskId: "ses_child" }]);
  expect(lifecyclePath(task.snapshot)).toBe("running.stopping.aborting");
  expect(task.take("STOPPED", { at: START + 5 })).toMatchObject(endsWith(error, "half of it"));
  expect(statusOf(task.snapshot)).toBe("error");
  expect(task.snapshot.context).toMatchObject({ error, result: "half of it", completedAt: START + 5 });
});

test("a run that said nothing has no result: that of an earlier run is not its own", () => {
  const task = resume(completeAndTell(workingTask(), "12"));
  beyondLimit(task);
  const [notice] = task.take("STOPPED");
  expect(notice).toMatchObject({ end: { run: 1, outcome: "error", error } });
  expect(notice).not.toHaveProperty("end.result");
  expect(task.snapshot.context.result).toBeUndefined();
});

test("a session that cannot be stopped leaves the limit's error, not that of the stop", () => {
  const task = workingTask();
  beyondLimit(task);
  for (let attempt = 1; attempt < TASK_LIMITS.stopAttempts; attempt += 1) {
    task.take("NOT_STOPPED", { error: fault });
    expect(task.take("TICK")).toMatchObject([{ type: "stopSession" }]);
  }
  expect(task.take("NOT_STOPPED", { error: fault })).toMatchObject(endsWith(error));
});

test("a fault of the plugin while the run is stopped leaves the limit's error", () => {
  const task = workingTask();
  beyondLimit(task);
  task.take("SUPERVISION_FAILED", { error: { ...fault, kind: "internal" } });
  expect(task.snapshot.context.error).toEqual(error);
});

test("a session that is deleted while its run is stopped at a limit has stopped", () => {
  const task = workingTask();
  beyondLimit(task);
  expect(task.take("SESSION_DELETED")).toMatchObject(endsWith(error));
});

test("a process that takes over goes on with the stop, and the limit stays the run's error", () => {
  const task = workingTask();
  beyondLimit(task, "half of it");
  expect(task.take("ADOPTED")).toMatchObject([{ type: "stopSession" }]);
  expect(task.take("STOPPED")).toMatchObject(endsWith(error, "half of it"));
});

test("a run that is being stopped is stopped for one reason: the first", () => {
  const limited = workingTask();
  beyondLimit(limited);
  expect(limited.refuses("CANCEL")).toBe(true);
  expect(limited.refuses("LIMIT_EXCEEDED", { error: { ...error, kind: "loop" } })).toBe(true);
  expect(refusalReason(limited.snapshot, { type: "CANCEL", at: START })).toBe("is already being cancelled");
  const cancelled = afterEvents(workingTask(), "CANCEL");
  expect(cancelled.refuses("LIMIT_EXCEEDED")).toBe(true);
  cancelled.take("STOPPED");
  expect(statusOf(cancelled.snapshot)).toBe("cancelled");
});

test("only a run that was sent, and has not ended, can be beyond a limit", () => {
  expect(queuedTask().refuses("LIMIT_EXCEEDED")).toBe(true);
  expect(completeAndTell(workingTask()).refuses("LIMIT_EXCEEDED")).toBe(true);
});

test("time in the queue is remembered only where there was any", () => {
  const waiting = queuedTask();
  waiting.take("SLOT_GRANTED", { at: START + 7 });
  expect(waiting.snapshot.context.queuedUntil).toBe(START + 7);
  expect(workingTask().snapshot.context.queuedUntil).toBeUndefined();
});
