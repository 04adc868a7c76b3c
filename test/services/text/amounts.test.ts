import { describe, expect, test } from "vitest";
import {
  dollars,
  formatUsage,
  formatUsageWithin,
  formatWakes,
  wakesInShort,
} from "../../../src/services/text/amounts.ts";
import { addUp } from "../../../src/task.ts";

describe("money and tokens are written the same everywhere", () => {
  test.each([
    [{ tokens: 120_000, cost: 0.42 }, "$0.42, 120k tokens"],
    [{ tokens: 1, cost: 0 }, "1 token"],
    [{ tokens: 950, cost: 1234.5 }, "$1,234.50, 950 tokens"],
    [{ tokens: 1_234, cost: 0.01 }, "$0.01, 1.23k tokens"],
    [{ tokens: 999_950, cost: 0.00421 }, "$0.0042, 1M tokens"],
    [{ tokens: 0, cost: 2 }, "$2.00"],
    [{ tokens: 10, cost: 0.00001 }, "under $0.0001, 10 tokens"],
    [{ tokens: 2_500_000_000, cost: 0 }, "2.5B tokens"],
  ])("%o", (usage, text) => {
    expect(formatUsage(usage)).toBe(text);
  });

  test("nothing is written where the host reports nothing", () => {
    expect(formatUsage({ tokens: 0, cost: 0 })).toBeUndefined();
    expect(formatUsageWithin({ tokens: 0, cost: 0 }, [])).toBeUndefined();
  });
});

test("a larger whole is named where it is more than the part, in dollars where they are known", () => {
  const part = { tokens: 120_000, cost: 0.42 };
  const [batch, all] = [
    { tokens: 500_000, cost: 1.1 },
    { tokens: 900_000, cost: 3 },
  ];
  expect(
    formatUsageWithin(part, [
      { name: "this batch", usage: batch },
      { name: "all tasks", usage: all },
    ]),
  ).toBe("$0.42, 120k tokens (this batch: $1.10, all tasks: $3.00)");
  expect(
    formatUsageWithin(part, [
      { name: "this batch", usage: part },
      { name: "all tasks", usage: batch },
    ]),
  ).toBe("$0.42, 120k tokens (all tasks: $1.10)");
  expect(formatUsageWithin(part, [{ name: "this batch", usage: part }])).toBe("$0.42, 120k tokens");
  const unpriced = { tokens: 7_000, cost: 0 };
  expect(formatUsageWithin({ tokens: 10, cost: 0 }, [{ name: "this batch", usage: unpriced }])).toBe(
    "10 tokens (this batch: 7k tokens)",
  );
});

test("what several used adds up without the fractions that floating point adds", () => {
  const used = [0.1, 0.2, 0.3].map((cost) => ({ tokens: 1, cost }));
  expect(addUp(used)).toEqual({ tokens: 3, cost: 0.6 });
  expect(addUp([])).toEqual({ tokens: 0, cost: 0 });
});

test.each([
  [0, "$0.00"],
  [0.00001, "under $0.0001"],
  [0.0001, "$0.0001"],
  [0.00421, "$0.0042"],
  [0.01, "$0.01"],
  [0.0504, "$0.0504"],
  [0.42, "$0.42"],
  [0.99999, "$1.00"],
  [1.004, "$1.00"],
  [1234.5, "$1,234.50"],
])("%d dollars", (amount, text) => {
  expect(dollars(amount)).toBe(text);
});

test("what wakes cost is written with how much of it was cached; shares of a wake are called that", () => {
  const costs = { wakes: 3, tokens: 102_000, cachedTokens: 95_000, cost: 0.12 };
  expect(formatWakes(costs)).toBe("3 wakes: $0.12, 102k tokens (95k cached)");
  expect(wakesInShort(costs)).toBe("3 wakes: $0.12");
  expect(formatWakes({ ...costs, wakes: 1, cachedTokens: 0 })).toBe("1 wake: $0.12, 102k tokens");
  expect(wakesInShort({ ...costs, wakes: 0, cost: 0 })).toBe("part of a wake: 102k tokens");
  const nothing = { wakes: 0, tokens: 0, cachedTokens: 0, cost: 0 };
  expect([nothing, undefined].flatMap((none) => [formatWakes(none), wakesInShort(none)])).toEqual(
    Array(4).fill(undefined),
  );
});
