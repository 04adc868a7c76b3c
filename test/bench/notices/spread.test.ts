import { describe, expect, test } from "vitest";
import { quantile, spreadOf } from "../../../bench/notices/spread.ts";

describe("a spread", () => {
  test("names the middle and both ends, whatever the order", () => {
    expect(spreadOf([3, 1, 20])).toEqual({ median: 3, least: 1, greatest: 20 });
  });

  test("has the mean of the two in the middle when their number is even", () => {
    expect(spreadOf([4, 1, 2, 100]).median).toBe(3);
  });

  test("of nothing is not a number, and so under no limit", () => {
    expect(spreadOf([])).toEqual({ median: Number.NaN, least: Number.NaN, greatest: Number.NaN });
  });

  test("a quantile lies between its neighbours by its distance from each", () => {
    expect(quantile([10, 20, 30, 40, 50], 0.9)).toBeCloseTo(46);
  });

  test("leaves the values in their order", () => {
    const values = [2, 1];
    spreadOf(values);
    expect(values).toEqual([2, 1]);
  });
});
