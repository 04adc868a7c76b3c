import { describe, expect, test } from "vitest";
import type { Moment } from "../../../bench/scoreboard/moments.ts";
import { type End, isTargetMet, type Played, scoreOf } from "../../../bench/scoreboard/score.ts";
import { scoreboard } from "../../../bench/scoreboard/tables.ts";

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

describe("the scoreboard", () => {
  const results = [
    { name: "ours", played: played(byItself(4_210), byItself(3_000)) },
    { name: "built-in", played: played(lost, whenPrompted) },
  ];
  const text = scoreboard(results, "ours", "2026-01-01, 2 cores");
  const lineOf = (begin: string) =>
    text
      .split("\n")
      .find((line) => line.startsWith(`| ${begin}`))
      ?.replaceAll(/ +/g, " ");

  test("has a line for each contender", () => {
    expect(lineOf("ours")).toBe("| ours | 2 | 2 | 0 | 0 | 0 | 3.0 s | 4.2 s |");
    expect(lineOf("built-in")).toBe("| built-in | 2 | 1 | 1 | 0 | 1 | never | never |");
  });

  test("has a line for each moment, with what each contender made of it", () => {
    expect(lineOf("1")).toBe(
      "| 1 | on its answer, after 20 ms | 2 of 2 once, after 4.2 s | 1 of 2 once, 1 when prompted |",
    );
  });

  test("says whether the target is met", () => {
    expect(text).toContain("The target, each end of ours once and without a prompt, is met.");
    expect(scoreboard(results, "built-in", "today")).toContain("is MISSED.");
  });

  test("needs the one that the target is for", () => {
    expect(() => scoreboard(results, "theirs", "today")).toThrow("theirs did not play");
  });
});
