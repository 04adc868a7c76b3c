import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { benches, benchesOf } from "../../../bench/table/benches.ts";

test.for(benches.map(({ name }) => name))("bench/%s.ts is there", (name) => {
  expect(existsSync(`bench/${name}.ts`)).toBe(true);
});

describe("the benches that run", () => {
  test("are all, when none is named", () => {
    expect(benchesOf([])).toBe(benches);
  });

  test("are those that are named, in the order of the table", () => {
    expect(benchesOf(["million", "notices"]).map(({ name }) => name)).toEqual(["notices", "million"]);
  });

  test("are none when one of the names is unknown", () => {
    expect(() => benchesOf(["notices", "fast"])).toThrow(/no bench "fast"; there are notices, /);
  });
});
