import { expect, test } from "vitest";
import { statePaths } from "../../src/machines/chart.ts";

test("the innermost states of a chart are paths", () => {
  expect(statePaths("idle")).toEqual(["idle"]);
  expect(statePaths({ run: { sending: "backoff" }, notice: "none" })).toEqual(["run.sending.backoff", "notice.none"]);
  expect(statePaths({ run: { left: "a", right: { inner: "b" } } })).toEqual(["run.left.a", "run.right.inner.b"]);
});

test("a state in which no other is named is an innermost one, and no value has no states", () => {
  expect(statePaths({ run: {}, notice: undefined })).toEqual(["run", "notice"]);
  expect(statePaths(undefined)).toEqual([]);
});
