import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cellsOf, markdownTable } from "../../../bench/table/markdown.ts";
import { summaryOf, withRows } from "../../../bench/table/page.ts";
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

test("a table in Markdown has columns of one width, and is read as it was written", () => {
  const rows = [
    ["a long name", "1"],
    ["b", ""],
  ];
  const table = markdownTable(["name", "value"], rows);
  expect(table.split("\n")).toEqual([
    "| name        | value |",
    "|-------------|-------|",
    "| a long name | 1     |",
    "| b           |       |",
  ]);
  expect(cellsOf(table)).toEqual(rows);
});

describe("the summary", () => {
  test("counts targets, and names each that is not met", () => {
    const rows = [row("store", "a change", "met"), row("store", "a start", "MISSED"), row("store", "memory", "")];
    expect(summaryOf(rows)).toBe(
      "1 of 2 targets are met.\n\nNot met:\n\n- store, a start: 3 ms, and the target is under 2 ms",
    );
  });

  test("names benches that have failed", () => {
    expect(summaryOf([row("fork", "ended by SIGKILL", "FAILED")])).toBe(
      "0 of 0 targets are met.\n\nFailed, so that figures are missing:\n\n- fork: ended by SIGKILL",
    );
  });
});

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

  test("without a place for them is not written", () => {
    expect(() => withRows("# Empty\n", [])).toThrow(/no place for its table/);
  });

  test("docs/performance.md says of its table what the table says", () => {
    const page = readFileSync("docs/performance.md", "utf8");
    expect(withRows(page, [])).toBe(page);
  });
});
