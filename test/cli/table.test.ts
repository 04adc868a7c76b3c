import { expect, test } from "vitest";
import { formatTable, shortIds } from "../../src/cli/task-table.ts";
import { shortTime } from "../../src/services/text/amounts.ts";
import { scriptedTerminal } from "./scripted-terminal.ts";

test("columns align, whatever the width of their characters, and what does not fit is left out or cut", () => {
  const columns = [{ title: "A" }, { title: "B", align: "right", drop: 1 }, { title: "C" }] as const;
  const row = (...cells: string[]) => ({ cells: cells.map((text) => ({ text })) });
  const rows = [row("日本", "1", "some words that go on for longer"), row("x", "1000", "few")];
  expect(formatTable(columns, rows, scriptedTerminal({ columns: 40 }))).toEqual([
    "A        B  C",
    "日本     1  some words that go on for l…",
    "x     1000  few",
  ]);
  expect(formatTable(columns, rows, scriptedTerminal({ columns: 30 }))).toEqual([
    "A     C",
    "日本  some words that go on f…",
    "x     few",
  ]);
});

test("a line below a row is indented to its second column and cut", () => {
  const rows = [{ cells: [{ text: "x" }, { text: "y" }], below: [{ text: "more and more" }] }];
  expect(formatTable([{ title: "A" }, { title: "B" }], rows, scriptedTerminal({ columns: 10 }))).toEqual([
    "A  B",
    "x  y",
    "   more a…",
  ]);
});

test("short ids have one length, of six characters at least, at which no two are the same", () => {
  const short = (...ids: string[]) => [...shortIds(ids).values()];
  expect(short("ses_abcdefgh", "ses_xyzxyzxyz")).toEqual(["abcdef", "xyzxyz"]);
  expect(short("ses_abcdefgh1", "ses_xyz", "ses_abcdefgh2")).toEqual(["abcdefgh1", "abcdefgh2", "xyz"]);
  expect(short("ses_abcdefgh", "ses_abcdefghi")).toEqual(["abcdefgh", "abcdefghi"]);
  expect(short()).toEqual([]);
});

test.each([
  [-5, "0s"],
  [999, "0s"],
  [59_000, "59s"],
  [60_000, "1m"],
  [133_000, "2m 13s"],
  [3_600_000 + 61_000, "1h 1m"],
  [86_400_000 * 3 + 3_600_000, "3d 1h"],
])("%i ms are written %s", (ms, text) => {
  expect(shortTime(ms)).toBe(text);
});
