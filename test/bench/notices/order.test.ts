import { describe, expect, test } from "vitest";
import { orderOf } from "../../../bench/notices/order.ts";

const inOrder = (names: string, rounds: number): string[] =>
  Array.from({ length: rounds }, (_, index) => orderOf([...names], index + 1).join(""));

describe("the order of a round", () => {
  test("of two contenders is reversed with each round", () => {
    expect(inOrder("ab", 4)).toEqual(["ab", "ba", "ab", "ba"]);
  });

  test("of three comes to all six in six rounds", () => {
    expect(new Set(inOrder("abc", 6)).size).toBe(6);
    expect(inOrder("abc", 12).slice(6)).toEqual(inOrder("abc", 6));
  });
});
