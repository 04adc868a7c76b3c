import { expect, test } from "vitest";
import { remember } from "../../../src/services/platform/remember.ts";

test("the newest entries are remembered; one that is set again is new again, and replaces its value", () => {
  const map = new Map<string, number>();
  for (const [key, value] of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
    ["c", 4],
  ] as const) {
    remember(map, key, value, 2);
  }
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});
