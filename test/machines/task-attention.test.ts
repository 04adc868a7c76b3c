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

test("the silence of a task that has ended is nothing to tell of", () => {
  expect(workingTask().refuses("WENT_QUIET")).toBe(false);
  expect(ended().refuses("WENT_QUIET")).toBe(true);
});
