import { expect, test } from "vitest";
import { dollars } from "../../../src/services/text/amounts.ts";

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
