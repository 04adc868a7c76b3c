import { describe, expect, test } from "vitest";
import { type Ratio, ratiosOf } from "../../../bench/notices/ratios.ts";
import { deliveries, roundOf } from "./rounds.ts";

/** Rounds of ours and the built-in in pairs, one child each, with these latencies. */
const pairs = (...latencies: [ours: number, builtIn: number][]) =>
  latencies.flatMap(([ours, builtIn], at) => [
    roundOf({ index: at + 1, children: deliveries(ours) }),
    roundOf({ index: at + 1, children: deliveries(builtIn), contender: "built-in" }),
  ]);

const latencyOf = (ratios: Ratio[]) => ratios.find(({ measure }) => measure === "latency");

describe("a ratio", () => {
  test("is taken within pairs, and stands beside that of the medians", () => {
    const ratio = latencyOf(ratiosOf(pairs([100, 100], [400, 200], [90, 300]), 1, "ours", "built-in"));
    expect(ratio).toMatchObject({
      ofPairs: { median: 1, least: 0.3, greatest: 2 },
      pairs: 3,
      below: 1,
      ofMedians: 0.5,
    });
  });

  test("pairs rounds by their index, not by when they were run", () => {
    const rounds = pairs([100, 100], [400, 200], [90, 300]);
    expect(ratiosOf(rounds.toReversed(), 1, "ours", "built-in")).toEqual(ratiosOf(rounds, 1, "ours", "built-in"));
  });

  test("is there for each measure that was taken", () => {
    expect(
      ratiosOf(pairs([100, 50]), 1, "ours", "built-in").map(({ measure, ofPairs }) => [measure, ofPairs.median]),
    ).toEqual([
      ["latency", 2],
      ["latency's CPU", 2],
      ["launching turn", 1],
      ["launching turn's CPU", 1],
      ["round's CPU", 1],
    ]);
  });

  test("leaves out a pair in which nothing was delivered", () => {
    const undelivered = roundOf({ index: 2, children: [{ stored: 0 }] });
    const rounds = [...pairs([100, 100]), undelivered, roundOf({ index: 2, contender: "built-in" })];
    expect(latencyOf(ratiosOf(rounds, 1, "ours", "built-in"))?.pairs).toBe(1);
  });

  test("needs both contenders", () => {
    expect(ratiosOf(pairs([100, 100]), 1, "ours", "other")).toEqual([]);
  });
});
