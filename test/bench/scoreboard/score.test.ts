import { describe, expect, test } from "vitest";
import type { Moment } from "../../../bench/scoreboard/moments.ts";
import { type End, isTargetMet, type Played, scoreOf } from "../../../bench/scoreboard/score.ts";

const moment: Moment = { number: 1, part: "on its answer", delay: 20 };
const byItself = (after: number, stored = 1): End => ({ seen: { when: "by itself", after }, stored });
const whenPrompted: End = { seen: { when: "when prompted", after: 21_000 }, stored: 1 };
const before: End = { seen: { when: "before the kill" }, stored: 1 };
const lost: End = { seen: { when: "never" }, stored: 0 };
const played = (...ends: End[]): Played[] => [{ moment, ends }];

describe("the score", () => {
  test("counts each end once", () => {
    const ends = [byItself(3_000), byItself(5_000, 2), whenPrompted, before, lost];
    expect(scoreOf(played(...ends))).toEqual({
      ends: 5,
      once: 3,
      twice: 1,
      lost: 1,
      whenPrompted: 1,
      median: 3_000,
      longest: 5_000,
    });
  });

  test("has no times when nothing came by itself", () => {
    const { median, longest } = scoreOf(played(whenPrompted, lost, before));
    expect([median, longest]).toEqual([Number.NaN, Number.NaN]);
  });

  test("calls a notice lost that was stored and never shown to the model", () => {
    expect(scoreOf(played({ ...lost, stored: 1 }))).toMatchObject({ once: 0, lost: 1 });
  });
});

describe("the target", () => {
  test("is met when each end came once, before the kill or by itself", () => {
    expect(isTargetMet(scoreOf(played(byItself(1), before)))).toBe(true);
  });

  test.for([
    ["lost", lost],
    ["delivered twice", byItself(1, 2)],
    ["delivered only when somebody prompted", whenPrompted],
  ] as const)("is missed when an end is %s", ([, end]) => {
    expect(isTargetMet(scoreOf(played(byItself(1), end)))).toBe(false);
  });

  test("is missed when nothing was played", () => {
    expect(isTargetMet(scoreOf([]))).toBe(false);
  });
});
