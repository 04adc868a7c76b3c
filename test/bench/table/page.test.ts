import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cellsOf } from "../../../bench/table/markdown.ts";
import { withRows } from "../../../bench/table/page.ts";
import { textIn } from "../../../scripts/marked-place.ts";

const row = (bench: string, what: string, verdict: string, day = "2026-01-01") => [
  bench,
  what,
  "3 ms",
  "under 2 ms",
  verdict,
  "",
  day,
];

const EMPTY =
  "# Figures\n\n<!-- summary -->\n<!-- end of summary -->\n\n<!-- table -->\n<!-- end of table -->\n\nThe end.\n";

describe("the page", () => {
  const first = withRows(EMPTY, [row("notices", "latency", "met"), row("store", "a change", "met")]);

  test("has the rows and their summary, and keeps the rest", () => {
    expect(cellsOf(textIn(first, "table"))).toHaveLength(2);
    expect(textIn(first, "summary")).toBe("2 of 2 targets are met.");
    expect(first.endsWith("\n\nThe end.\n")).toBe(true);
  });

  test("gets new rows of a bench in the place of its last ones, and the summary is of all", () => {
    const second = withRows(first, [row("notices", "launch", "MISSED", "2026-01-02")]);
    expect(cellsOf(textIn(second, "table")).map(([bench, what]) => [bench, what])).toEqual([
      ["notices", "launch"],
      ["store", "a change"],
    ]);
    expect(textIn(second, "summary")).toMatch(/^1 of 2 targets are met\./);
  });

  test("docs/performance.md says of its table what the table says", () => {
    const page = readFileSync("docs/performance.md", "utf8");
    expect(withRows(page, [])).toBe(page);
  });
});
