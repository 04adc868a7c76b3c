import { expect, test } from "vitest";
import { schemaMisfits } from "../../../src/services/typed-results/json-schema.ts";

const misfitsOf = (format: string, value: string | number) => schemaMisfits({ format }, value);

test.each<[string, string, (length: number) => string]>([
  ["a regular expression", "json-pointer", (length) => `/${"a".repeat(length - 1)}`],
  ["a function", "uri", (length) => `urn:${"a".repeat(length - 4)}`],
  ["a definition", "date-time", (length) => `2026-01-31T00:00:00.${"0".repeat(length - 21)}Z`],
])("a string of a format that is %s has 2,000 characters at most", (_, format, make) => {
  expect(misfitsOf(format, make(2_000))).toEqual([]);
  expect(misfitsOf(format, make(2_001))).toEqual([`the value must match format "${format}"`]);
});

test.each([
  ["byte", "A".repeat(4_000)],
  ["password", "x".repeat(4_000)],
])("a string of the format %s has any length", (format, value) => {
  expect(misfitsOf(format, value)).toEqual([]);
});

test.each([
  ["json-pointer", "a"],
  ["uri", "a"],
  ["date-time", "2026-01-31"],
  ["byte", "A"],
  ["int32", 2 ** 31],
])("what is not of the format %s does not fit", (format, value) => {
  expect(misfitsOf(format, value)).toEqual([`the value must match format "${format}"`]);
});

test("numbers have formats, too", () => {
  expect(misfitsOf("int32", 2 ** 31 - 1)).toEqual([]);
});

test("dates have limits", () => {
  const schema = { format: "date", formatMinimum: "2026-02-01" };
  expect(schemaMisfits(schema, "2026-02-01")).toEqual([]);
  expect(schemaMisfits(schema, "2026-01-31")).toEqual(["the value should be >= 2026-02-01"]);
});
