import { expect, test } from "vitest";
import { columnsOf, cut, wrap } from "../../../src/services/platform/columns.ts";

test.each([
  ["日本語", 6],
  ["e\u0301", 1],
  ["👩‍👩‍👧", 2],
  ["🇩🇪", 2],
  // Hangul as macOS writes file names: three characters that are drawn as one.
  ["\u1112\u1161\u11ab", 2],
  // These are emoji only with a selector.
  ["⚙", 1],
  ["☎", 1],
  ["☎️", 2],
])("%j takes %i columns", (line, columns) => {
  expect(columnsOf(line)).toBe(columns);
});

test.each([
  ["hello", 5, "hello"],
  ["hello!", 5, "hell…"],
  ["日本語", 6, "日本語"],
  ["日本語", 5, "日本…"],
  ["日本語", 4, "日…"],
  ["a👩‍👩‍👧‍👦b", 3, "a…"],
  ["one two", 5, "one…"],
  ["abc", 1, "…"],
  ["abc", 0, ""],
])("%j is cut to %i columns as %j: between characters, never in one", (line, columns, short) => {
  expect(cut(line, columns)).toBe(short);
});

test("a text is wrapped between words, by the columns that they take; a longer word is not broken", () => {
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrap("/a/long/path and", 5)).toEqual(["/a/long/path", "and"]);
  expect(wrap("日本 日本", 8)).toEqual(["日本", "日本"]);
  expect(wrap("one two three four five", 7, 2)).toEqual(["one two", "three four five"]);
});

test("an arrow stays on the line of the state that it leads to", () => {
  expect(wrap("resumed.stopping.aborting →\u00a0resumed.stopping.pausing", 37)).toEqual([
    "resumed.stopping.aborting",
    "→\u00a0resumed.stopping.pausing",
  ]);
});
