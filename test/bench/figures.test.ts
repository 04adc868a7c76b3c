import { describe, expect, test } from "vitest";
import { Figure, isMissed, verdictOf } from "../../bench/figures.ts";

const figure = (more: Partial<Figure>): Figure => ({ what: "a page", value: 10, unit: "ms", ...more });

describe("a target", () => {
  test.for([
    [{ goal: 11 }, "met"],
    [{ goal: 10 }, "MISSED"],
    [{ atMost: 10 }, "met"],
    [{ atMost: 9 }, "MISSED"],
    [{ atLeast: 10 }, "met"],
    [{ atLeast: 11 }, "MISSED"],
    [{ atLeast: 5, goal: 8 }, "MISSED"],
    [{}, ""],
  ] as const)("%j of 10 ms: %s", ([target, verdict]) => {
    expect(verdictOf(figure(target))).toBe(verdict);
    expect(isMissed(figure(target))).toBe(verdict === "MISSED");
  });

  test.for([{ goal: 1 }, { atMost: 1 }, { atLeast: 1 }])("%j is missed when nothing could be measured", (target) => {
    expect(isMissed(figure({ ...target, value: Number.NaN }))).toBe(true);
  });
});

describe("a figure as JSON", () => {
  test("is read as it was written", () => {
    const whole = figure({ atMost: 20, compared: { own: 1, other: 2, unit: "ms", with: "the built-in" } });
    expect(Figure.parse(JSON.parse(JSON.stringify(whole)))).toEqual(whole);
  });

  test("keeps that its value is no number, so that its target is missed there, too", () => {
    const read = Figure.parse(JSON.parse(JSON.stringify(figure({ value: Number.NaN, goal: 1 }))));
    expect(read.value).toBeNaN();
    expect(verdictOf(read)).toBe("MISSED");
  });

  test("of an unknown unit is refused", () => {
    expect(Figure.safeParse({ ...figure({}), unit: "miles" }).success).toBe(false);
  });
});
