import { expect, test } from "vitest";
import { truncate, truncateStart } from "../../../src/services/platform/plain-text.ts";

test("a cut at either end parts no pair", () => {
  const text = "😀a😀";
  expect([0, 1, 2, 3, 4, 5].map((length) => truncate(text, length))).toEqual(["", "", "😀", "😀a", "😀a", text]);
  expect([0, 1, 2, 3, 4, 5].map((length) => truncateStart(text, length))).toEqual([text, "a😀", "a😀", "😀", "", ""]);
});
