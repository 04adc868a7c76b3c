import fc from "fast-check";
import { expect, test } from "vitest";
import { toSingleLine, truncate, truncateStart } from "../../../src/services/platform/plain-text.ts";

test("a cut at either end parts no pair", () => {
  const text = "😀a😀";
  expect([0, 1, 2, 3, 4, 5].map((length) => truncate(text, length))).toEqual(["", "", "😀", "😀a", "😀a", text]);
  expect([0, 1, 2, 3, 4, 5].map((length) => truncateStart(text, length))).toEqual([text, "a😀", "a😀", "😀", "", ""]);
});

test("a line of plain words stays as it is, and any other text has one space between its words", () => {
  const line = "look at src/a.ts (twice)";
  expect(toSingleLine(line)).toBe(line);
  const ascii = fc.string({ unit: fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCharCode(code)) });
  fc.assert(
    fc.property(ascii, (text) => {
      const words = text.split(/[\0-\x20\x7f]+/).filter((word) => word !== "");
      expect(toSingleLine(text)).toBe(words.join(" "));
    }),
  );
});
