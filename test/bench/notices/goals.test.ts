import { describe, expect, test } from "vitest";
import { figuresOf } from "../../../bench/notices/figures.ts";
import { bytesGoal, deliveryGoals, ratioGoal } from "../../../bench/notices/goals.ts";
import type { Ratio } from "../../../bench/notices/ratios.ts";
import type { Round } from "../../../bench/notices/round.ts";
import { roundOf } from "./rounds.ts";

const ratio = (changes: Partial<Ratio>): Ratio => ({
  measure: "latency",
  tasks: 1,
  of: "ours",
  to: "built-in",
  ofPairs: { median: 1, least: 1, greatest: 1 },
  pairs: 7,
  below: 0,
  ofMedians: 1,
  ...changes,
});

describe("the goal of a ratio", () => {
  test.for([
    [1, 1.3],
    [4, 1.05],
    [20, 1],
    [100, 1],
  ] as const)("of latencies at %i ends is %f", ([tasks, limit]) => {
    expect(ratioGoal(ratio({ tasks }))?.limit).toBe(limit);
  });

  test.for(["launching turn", "round's CPU"] as const)("of the %s is 1.1 at any number of ends", (measure) => {
    expect([1, 4, 20, 100].map((tasks) => ratioGoal(ratio({ measure, tasks }))?.limit)).toEqual([1.1, 1.1, 1.1, 1.1]);
  });

  test("is judged by the median of its pairs", () => {
    const ofPairs = { least: 0.5, median: 1.2, greatest: 9 };
    expect(ratioGoal(ratio({ ofPairs, ofMedians: 5 }))).toMatchObject({ measured: 1.2, met: true });
    expect(ratioGoal(ratio({ ofPairs, tasks: 4 }))).toMatchObject({ measured: 1.2, met: false });
  });

  test("is none for what only explains a figure, nor against another build", () => {
    expect(ratioGoal(ratio({ measure: "latency's CPU" }))).toBeUndefined();
    expect(ratioGoal(ratio({ measure: "launching turn's CPU" }))).toBeUndefined();
    expect(ratioGoal(ratio({ to: "other" }))).toBeUndefined();
  });
});

describe("the goals of deliveries", () => {
  /** Which of them are missed when a round of ours is like this, beside one of the built-in. */
  const missed = (ours: Partial<Round>, builtIn: Partial<Round> = {}) => {
    const rounds = [roundOf(), roundOf(ours), roundOf({ contender: "built-in", ...builtIn })];
    const goals = deliveryGoals(figuresOf(rounds, "ours", 1), figuresOf(rounds, "built-in", 1));
    return goals.filter(({ met }) => !met).map(({ name }) => name.replace("1 end: ", ""));
  };

  test("are met by one notice, one turn, and every child delivered once", () => {
    expect(missed({})).toEqual([]);
  });

  test.for([
    ["delivered twice", { children: [{ latency: 10, stored: 2 }] }],
    ["never delivered", { children: [{ stored: 1 }] }],
  ] as const)("are missed by a child that was %s", ([, { children }]) => {
    expect(missed({ children: [...children] })).toEqual(["children not delivered exactly once"]);
  });

  test("are missed by two notice messages in a single round", () => {
    expect(missed({ noticeMessages: 2 })).toEqual(["rounds with other than one notice message"]);
  });

  test("are missed by a single round with more turns than the built-in's best", () => {
    const turns = "most parent turns in a round, against the built-in's fewest";
    expect(missed({ turns: 2 })).toEqual([turns]);
    expect(missed({ turns: 2 }, { turns: 2 })).toEqual([]);
  });
});

test("3200 bytes of tool definitions are just not too many", () => {
  expect([3200, 3201].map((bytes) => bytesGoal(bytes).met)).toEqual([true, false]);
});
