import { describe, expect, test } from "vitest";
import { figuresOf } from "../../../bench/notices/figures.ts";
import { deliveries, roundOf } from "./rounds.ts";

describe("the figures of a contender", () => {
  test("are medians of its rounds, each of which counts once", () => {
    const slow = deliveries(900, 900, 900, 900);
    const rounds = [deliveries(10, 20, 30, 40), deliveries(50, 50, 50, 50), slow].map((children) =>
      roundOf({ children }),
    );
    const { rounds: count, medians, latency } = figuresOf(rounds, "ours", 4);
    expect(count).toBe(3);
    expect(medians).toEqual({
      latency: 50,
      "latency's CPU": 25,
      "launching turn": 50,
      "launching turn's CPU": 40,
      "round's CPU": 600,
    });
    expect(latency.max).toBe(900);
  });

  test("leave out other contenders and other numbers of tasks", () => {
    const rounds = [
      roundOf({ children: deliveries(10) }),
      roundOf({ children: deliveries(5_000, 5_000) }),
      roundOf({ contender: "built-in", children: deliveries(7_000) }),
    ];
    expect(figuresOf(rounds, "ours", 1)).toMatchObject({ rounds: 1, children: 1, latency: { max: 10 } });
  });

  test("leave the CPU out where nobody tells of it", () => {
    const { cpu: _, ...round } = roundOf({ children: [{ latency: 10, stored: 1 }], launching: { ms: 5 } });
    expect(figuresOf([round], "ours", 1).medians).toEqual({ latency: 10, "launching turn": 5 });
  });

  test("count children that were delivered once, twice, and never", () => {
    const children = [...deliveries(10), { latency: 10, cpu: 5, stored: 2 }, { stored: 1 }, { stored: 0 }];
    const figures = figuresOf([roundOf({ children })], "ours", 4);
    expect(figures).toMatchObject({ children: 4, deliveredOnce: 1, deliveredTwice: 1, undelivered: 2 });
  });

  test("count the rounds that were delivered in more messages than one, or in none", () => {
    const rounds = [1, 2, 0, 1].map((noticeMessages) => roundOf({ noticeMessages }));
    const figures = figuresOf(rounds, "ours", 1);
    expect(figures.roundsNotInOneNotice).toBe(2);
    expect(figures.noticeMessages).toEqual({ median: 1, least: 0, greatest: 2 });
  });

  test("of no round at all are an error", () => {
    expect(() => figuresOf([roundOf()], "built-in", 1)).toThrow("no round of built-in with 1 tasks was run");
  });
});
