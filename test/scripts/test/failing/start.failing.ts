import { expect, test } from "vitest";
import { setUp } from "../../../e2e/lab/set-up.ts";

let starts = 0;

setUp(async () => {
  starts += 1;
  if (starts === 1) throw new Error("it did not start");
  return () => undefined;
});

test("its start fails", () => undefined);

test("is started once more for the next one", () => {
  expect(starts).toBe(2);
});
