import { expect, test } from "vitest";
import { isMissed } from "../../../bench/figures.ts";
import { asFigures } from "../../../bench/notices/as-figures.ts";
import { reportOf } from "../../../bench/notices/report.ts";
import { deliveries, roundOf } from "./rounds.ts";

const rounds = [
  roundOf({ children: deliveries(150), turns: 2 }),
  roundOf({ contender: "built-in", children: [{ latency: 100, cpu: 50, stored: 2 }], turns: 1 }),
];
const report = reportOf(rounds, [1], { tools: 5, bytes: 3_000 });
const figures = asFigures(report);

test("each goal is a figure with the same verdict", () => {
  expect(figures.map((figure) => ({ name: figure.what, met: !isMissed(figure) }))).toEqual(
    report.goals.map(({ name, met }) => ({ name, met })),
  );
});

test("a ratio stands beside the medians of both", () => {
  expect(figures.find(({ what }) => what.includes("latency"))).toMatchObject({
    value: 1.5,
    unit: "x",
    atMost: 1.3,
    compared: { own: 150, other: 100, unit: "ms", with: "the built-in" },
  });
});

test("what was counted stands beside what the built-in was seen to do", () => {
  expect(figures.find(({ what }) => what.includes("exactly once"))?.compared).toMatchObject({ own: 0, other: 1 });
  expect(figures.find(({ what }) => what.includes("turns"))?.compared).toMatchObject({ own: 2, other: 1 });
});
