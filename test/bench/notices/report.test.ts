import { describe, expect, test } from "vitest";
import { formatReport, reportOf } from "../../../bench/notices/report.ts";
import { deliveries, roundOf } from "./rounds.ts";

const definitions = { tools: 4, bytes: 2700 };

/** Seven rounds of 100 ends each; latencies in five figures, as on a very busy machine. */
const rounds = (["ours", "other", "built-in"] as const).flatMap((contender, place) =>
  Array.from({ length: 7 }, (_, index) => {
    // Ours swings more than the others do.
    const latency = 20_000 - 1_000 * place + (contender === "ours" ? 300 * index : 0);
    const launching = { ms: 30_000 + 10_000 * place, mainThreadMs: 12_000 };
    const noticeMessages = contender === "built-in" ? 100 : 1;
    const children = deliveries(...Array.from({ length: 100 }, () => latency));
    return roundOf({ contender, index: index + 1, children, launching, cpu: 30_000, noticeMessages });
  }),
);

const twoContenders = rounds.filter(({ contender }) => contender !== "other");

describe("the report", () => {
  test("fits into 100 columns", () => {
    const lines = formatReport(reportOf(rounds, [100], definitions)).split("\n");
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  test("shows the figures of each contender, and ratios with their spread and verdict", () => {
    const text = formatReport(reportOf(twoContenders, [100], definitions));
    expect(text).toMatch(/^100 +ours +20900 +21800 +10450 +30000 +12000 +30000 +1 +1 +700\/700$/m);
    expect(text).toMatch(/^100 +built-in +18000 .* 100 +1 +700\/700$/m);
    expect(text).toMatch(/^100 +latency +1\.16 +1\.11-1\.21 +1\.16 +0 of 7 +<= 1 +MISSED$/m);
    expect(text).toMatch(/^100 +launching turn +0\.60 .* 7 of 7 +<= 1\.10 +met$/m);
  });

  test("has a table against another build only where there is one", () => {
    expect(formatReport(reportOf(twoContenders, [100], definitions))).not.toContain("ours / other");
    expect(formatReport(reportOf(rounds, [100], definitions))).toContain("ours / other");
  });

  test("judges by goals against the built-in alone", () => {
    const goals = reportOf(twoContenders, [100], definitions).goals;
    expect(reportOf(rounds, [100], definitions).goals).toEqual(goals);
    expect(goals.filter(({ met }) => !met).map(({ name }) => name)).toEqual(["100 ends: latency, ours / built-in"]);
  });

  test("needs a round of each size", () => {
    expect(() => reportOf(rounds, [20], definitions)).toThrow("no round of ours with 20 tasks was run");
  });
});
