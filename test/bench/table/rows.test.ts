import { describe, expect, test } from "vitest";
import type { Figure } from "../../../bench/figures.ts";
import { rowsOf, short } from "../../../bench/table/rows.ts";

const WHEN = "2026-01-01, 2 cores";
const latency: Figure = {
  what: "1 end: latency",
  value: 1.5044,
  unit: "x",
  atMost: 1.3,
  compared: { own: 139.4, other: 86.2, unit: "ms", with: "the built-in" },
};

test.for([
  [0, "0"],
  [0.0034567, "0.00346"],
  [1.5044, "1.5"],
  [86.24, "86.2"],
  [139.4, "139"],
  [3176, "3,176"],
  [20_000, "20,000"],
  [Number.NaN, "nothing"],
] as const)("%d is short: %s", ([value, words]) => {
  expect(short(value)).toBe(words);
});

describe("the rows of a bench", () => {
  test("have a figure beside its target, its verdict, and what it is compared with", () => {
    expect(rowsOf({ bench: "notices", figures: [latency] }, WHEN)).toEqual([
      ["notices", "1 end: latency", "1.5 x", "at most 1.3 x", "MISSED", "139 ms against 86.2 ms, the built-in", WHEN],
    ]);
  });

  test.for([
    [8.0016, { goal: 8 }, "8.002 kB"],
    [7.99996, { goal: 8 }, "7.99996 kB"],
    [1000.2, { atMost: 1000 }, "1,000.2 kB"],
    [6, { goal: 8 }, "6 kB"],
  ] as const)("round %d, the target %j, to what its verdict says: %s", ([value, target, words]) => {
    const figures: Figure[] = [{ what: "a task", value, unit: "kB", ...target }];
    expect(rowsOf({ bench: "store", figures }, WHEN)[0]?.[2]).toBe(words);
  });

  test("leave out what is only for its own report, unless all is asked for", () => {
    const alone: Figure = { what: "the very first page", value: 3, unit: "ms" };
    const outcome = { bench: "history", figures: [alone, { ...alone, goal: 4 }] };
    expect(rowsOf(outcome, WHEN)).toHaveLength(1);
    expect(rowsOf(outcome, WHEN, true)).toHaveLength(2);
  });

  test("end with why it has failed, and keep the figures that it handed over", () => {
    const rows = rowsOf({ bench: "notices", figures: [latency], failure: "ended by SIGKILL" }, WHEN);
    expect(rows).toHaveLength(2);
    expect(rows[1]).toEqual(["notices", "ended by SIGKILL", "", "", "FAILED", "", WHEN]);
  });

  test("have no text that would break a table", () => {
    const rows = rowsOf({ bench: "notices", figures: [], failure: "one | two\nthree" }, WHEN);
    expect(rows[0]?.[1]).toBe("one / two three");
  });
});
