import { expect, test } from "vitest";
import { timeIn } from "../../../src/services/receipts/run-tally.ts";

const span = (from: number, to?: number) => ({ from, to });

test.each([
  ["nothing", [], [], 0],
  ["one", [span(10, 30)], [], 20],
  ["two that overlap count once", [span(10, 30), span(20, 50)], [], 40],
  ["one within another counts once", [span(10, 50), span(20, 30)], [], 40],
  ["two that touch", [span(20, 30), span(10, 20)], [], 20],
  ["one that lasts goes to the end", [span(80)], [], 20],
  ["what is outside does not count", [span(-50, 10), span(90, 500), span(200, 300)], [], 20],
  ["what is left out", [span(10, 50)], [span(20, 30)], 30],
  ["what is left out may reach further", [span(10, 50)], [span(0, 20), span(40)], 20],
  ["what is left out of nothing", [], [span(10, 20)], 0],
])("%s", (_, spans, except, expected) => {
  expect(timeIn(spans, except, 0, 100)).toBe(expected);
});

test("a time that ends before it begins has nothing in it", () => {
  expect(timeIn([span(0, 50)], [], 40, 20)).toBe(0);
});
