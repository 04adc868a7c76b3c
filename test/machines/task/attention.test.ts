import { expect, test } from "vitest";
import { workingTask } from "./driven-task.ts";

/** A task that has ended, and whose parent is not told yet. */
const ended = () => {
  const task = workingTask();
  task.take("CANCEL");
  task.take("STOPPED");
  return task;
};

test("a request that comes after the end holds nothing up", () => {
  for (const kind of ["permission", "question"] as const) {
    const request = { id: "per_1", kind, what: "?", since: 0 };
    expect(workingTask().refuses("REQUEST_ASKED", { request }), kind).toBe(false);
    expect(ended().refuses("REQUEST_ASKED", { request }), kind).toBe(true);
  }
});

test("the silence of a task that has ended is nothing to report", () => {
  expect(workingTask().refuses("BECAME_STALE")).toBe(false);
  expect(ended().refuses("BECAME_STALE")).toBe(true);
});

test("when a request is answered, the oldest of the others is shown next", () => {
  const task = workingTask();
  const kinds = { per_1: "permission", que_1: "question", per_2: "permission" } as const;
  for (const [id, kind] of Object.entries(kinds))
    task.take("REQUEST_ASKED", { request: { id, kind, what: "?", since: 0 } });
  task.take("REQUEST_ANSWERED", { id: "per_1" });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "question" });
  task.take("REQUEST_ANSWERED", { id: "que_1" });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "permission" });
});

test("what a child asked is forgotten with the process that it asked in", () => {
  const task = workingTask();
  task.take("REQUEST_ASKED");
  task.take("ADOPTED");
  expect(task.snapshot.value.attention).toBe("none");
  expect(task.snapshot.context.userRequests).toEqual([]);
});

test("a child is silent since it was last heard of, and no longer once it is heard", () => {
  const task = workingTask();
  task.take("BECAME_STALE", { at: 600_000 });
  expect(task.snapshot.context.staleSince).toBe(600_000);
  task.take("ACTIVITY_SEEN");
  expect(task.snapshot.context.staleSince).toBeUndefined();
});
