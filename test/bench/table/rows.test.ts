import { describe, expect, test } from "vitest";
import type { Figure } from "../../../bench/figures.ts";
import { rowsOf } from "../../../bench/table/rows.ts";

const WHEN = "2026-01-01, 2 cores";
const latency: Figure = {
  what: "1 end: latency",
  value: 1.5044,
  unit: "x",
  atMost: 1.3,
  compared: { own: 139.4, other: 86.2, unit: "ms", with: "the built-in" },
};

describe("the rows of a bench", () => {
  test.for([
    [8.0016, { goal: 8 }, "8.002 kB"],
    [7.99996, { goal: 8 }, "7.99996 kB"],
    [1000.2, { atMost: 1000 }, "1,000.2 kB"],
    [6, { goal: 8 }, "6 kB"],
  ] as const)("round %d, the target %j, to what its verdict says: %s", ([value, target, words]) => {
    const figures: Figure[] = [{ what: "a task", value, unit: "kB", ...target }];
    expect(rowsOf({ bench: "store", figures }, WHEN)[0]?.[2]).toBe(words);
  });

  test("end with why it has failed, and keep the figures that it handed over", () => {
    const rows = rowsOf({ bench: "notices", figures: [latency], failure: "ended by SIGKILL" }, WHEN);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toEqual(["notices", "ended by SIGKILL", "", "", "FAILED", "", WHEN]);
  });
});
