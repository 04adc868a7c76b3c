import { expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import {
  allowedEvents,
  initialSnapshot,
  isAtRest,
  isCompatible,
  refusalReason,
} from "../../../src/machines/task/machine.ts";
import { taskInput } from "../../fakes/task-input.ts";
import { answeredTask, completeAndTell, queuedTask, workingTask } from "./driven-task.ts";

test("a task is at rest when it has ended, its parent is owed nothing, and no call waits for it", () => {
  const waitedFor = completeAndTell(workingTask());
  waitedFor.take("WAIT_BEGAN");
  const isResting = [workingTask(), answeredTask(), completeAndTell(workingTask()), waitedFor].map(({ snapshot }) =>
    isAtRest(snapshot),
  );
  expect(isResting).toEqual([false, false, true, false]);
});

test("a task begins in the queue, and nothing of it is at rest or cut off yet", () => {
  const snapshot = initialSnapshot(taskInput("ses_child"));
  expect(snapshot.value).toEqual(queuedTask().snapshot.value);
  expect(snapshot.context).toEqual(queuedTask().snapshot.context);
  expect(snapshot.context).toMatchObject({ recovery: "continue", sendAttempts: 0, completedAt: undefined });
});

test("a stored snapshot fits this version's chart unless it is in a state that the chart does not have", () => {
  const { value, context } = workingTask().snapshot;
  expect(isCompatible({ value, context })).toBe(true);
  expect(isCompatible({ value: { ...value, run: "unheardOf" as never }, context })).toBe(false);
});

test("the events that a caller may send are those that the task takes now", () => {
  expect(allowedEvents(workingTask().snapshot)).toEqual(["CANCEL", "PAUSE", "STEER"]);
  expect(allowedEvents(completeAndTell(workingTask()).snapshot)).toEqual(["RESUME", "RESULT_READ"]);
});

test("a state is named by its path, and several regions one after the other", () => {
  expect(statePath("running")).toBe("running");
  expect(statePath({ stopping: "aborting" })).toBe("stopping.aborting");
  expect(statePath({ lifecycle: "running", run: { stopping: "pausing" } })).toBe(
    "lifecycle.running run.stopping.pausing",
  );
  expect(statePath(null)).toBe("null");
});

test("a refusal that the chart has no words for names the state and the event", () => {
  const task = workingTask();
  expect(refusalReason(task.snapshot, { type: "STOPPED", at: 0 })).toBe(
    "is running.active.working.busy and takes no STOPPED",
  );
  expect(refusalReason(task.snapshot, { type: "HOST_IDLE", at: 0 })).toBeUndefined();
});
