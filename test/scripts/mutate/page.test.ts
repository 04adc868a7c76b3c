import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { areas } from "../../../scripts/mutate/areas.ts";
import { filesOf, readMeasured } from "../../../scripts/mutate/measured.ts";
import { rowOf, rowOfWhole, withResults } from "../../../scripts/mutate/page.ts";
import type { Score } from "../../../scripts/mutate/score.ts";

const page = readFileSync("docs/mutation.md", "utf8");
const [first, second] = areas;
const score: Score = { killed: 95, survived: [{ file: "a.ts", code: "a", mutation: "b" }], equivalent: [] };

test("a row gives the share of the mutants that were killed", () => {
  expect(first && rowOf(first, score, "2026-01-01")).toBe("| task chart | 95 | 1 | 0 | 99.0 % | 95.0 % | 2026-01-01 |");
});

test("results of one area replace its last ones, and leave those of the others", () => {
  const once = withResults(
    page,
    areas,
    new Map(areas.map((area) => [area.name, rowOf(area, score, "2026-01-01")])),
    {},
  );
  const twice = withResults(once, areas, new Map([[second?.name ?? "", `| ${second?.name} | new |`]]), {});
  const rows = twice.split("\n").filter((line) => areas.some(({ name }) => line.startsWith(`| ${name} |`)));
  expect(rows).toHaveLength(areas.length);
  expect(rows[1]).toBe("| outbox chart | new |");
  expect(rows[0]).toContain("2026-01-01");
});

test("a page without a place for the results is not overwritten", () => {
  expect(() => withResults("# Empty\n", areas, new Map(), {})).toThrow(/no place for its table/);
});

test("an area has a row once each of its files was measured, of the day of the one that was longest ago", () => {
  const files = first ? filesOf(first) : [];
  const entries = files.map((file, index) => {
    const on = index === 1 ? "2026-01-01" : "2026-01-02";
    return [file, { fingerprint: "", on, killed: 1, left: index === 0 ? [{ code: "a", mutation: "b" }] : [] }] as const;
  });
  expect(first && rowOfWhole(first, Object.fromEntries(entries.slice(1)))).toBeUndefined();
  const share = ((files.length / (files.length + 1)) * 100).toFixed(1);
  expect(first && rowOfWhole(first, Object.fromEntries(entries))).toBe(
    `| task chart | ${files.length} | 1 | 0 | ${share} % | 95.0 % | 2026-01-01 |`,
  );
});

test("docs/mutation.md lists what survived, and the changes that are known to be no mistakes: --write puts them there", () => {
  expect(withResults(page, areas, new Map(), readMeasured())).toBe(page);
});
