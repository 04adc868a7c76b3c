import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { areas } from "../../../scripts/mutate/areas.ts";
import { rowOf, withResults } from "../../../scripts/mutate/page.ts";
import type { Score } from "../../../scripts/mutate/score.ts";

const page = readFileSync("docs/mutation.md", "utf8");
const [first, second] = areas;
const score: Score = { killed: 95, survived: [{ file: "a.ts", line: 1, code: "a", mutation: "b" }], equivalent: [] };

test("a row gives the share of the mutants that were killed", () => {
  expect(first && rowOf(first, score, "2026-01-01")).toBe("| task chart | 95 | 1 | 0 | 99.0 % | 95.0 % | 2026-01-01 |");
});

test("results of one area replace its last ones, and leave those of the others", () => {
  const once = withResults(page, areas, new Map(areas.map((area) => [area.name, rowOf(area, score, "2026-01-01")])));
  const twice = withResults(once, areas, new Map([[second?.name ?? "", `| ${second?.name} | new |`]]));
  const rows = twice.split("\n").filter((line) => areas.some(({ name }) => line.startsWith(`| ${name} |`)));
  expect(rows).toHaveLength(areas.length);
  expect(rows[1]).toBe("| outbox chart | new |");
  expect(rows[0]).toContain("2026-01-01");
});

test("a page without a place for the results is not overwritten", () => {
  expect(() => withResults("# Empty\n", areas, new Map())).toThrow(/no place for its table/);
});

test("docs/mutation.md lists the changes that are known to be no mistakes: --write puts them there", () => {
  expect(withResults(page, areas, new Map())).toBe(page);
});
