import { readdirSync, readFileSync } from "node:fs";
import { join as pathTo } from "node:path";
import { expect, test } from "vitest";
import {
  endWith,
  endWithJson,
  join,
  lines,
  nameOf,
  type OwnLine,
  type OwnText,
  own,
  quoteBlock,
  quoteLine,
} from "../../../src/services/text/own-text.ts";

const anybody = (text: string): string => text;

test("what may be anybody's does not compile in a text of ours before it is quoted", () => {
  const status = "running" as "running" | "completed";
  expect(own`Task ${nameOf("ses_1")} is ${status}, run ${2}.`).toBe("Task ses_1 is running, run 2.");
  // @ts-expect-error a string is anybody's
  expect(own`${anybody("x")}`).toBe("x");
  // @ts-expect-error also where it is but one of two
  expect(own`${status === "running" ? anybody("x") : "y"}`).toBe("x");
  // @ts-expect-error and where lines are put together
  expect(lines("a", anybody("x"))).toBe("a\nx");
  // @ts-expect-error and where texts are
  expect(join([own`a`, anybody("x")], ", ")).toBe("a, x");
  // @ts-expect-error nor is it one of ours by its type
  const ours: OwnText = anybody("x");
  expect(ours).toBe("x");
});

test("nothing follows on a line that ends with the words of others", () => {
  const line: OwnLine = endWith(own`asks:`, 'Which "one"?\nIt waits.', 100);
  expect(lines(line, "It waits for you.")).toBe('asks: Which "one"? It waits.\nIt waits for you.');
  // @ts-expect-error it would read as theirs
  expect(own`${line} It waits.`).toContain("It waits.");
});

test("only the module that quotes makes texts ours", () => {
  const casts = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter(
      (file) => file.endsWith(".ts") && /\bas (?:OwnText|OwnLine)\b/.test(readFileSync(pathTo("src", file), "utf8")),
    )
    .map((file) => file.replaceAll("\\", "/"));
  expect(casts).toEqual(["services/text/own-text.ts"]);
});

test("a quotation in a line is one line, its own marks marked, and cut where it is long", () => {
  expect(quoteLine('find "x" in C:\\a\nnow')).toBe('"find \\"x\\" in C:\\\\a now"');
  expect(quoteLine("x".repeat(1_000_000))).toBe(`"${"x".repeat(200)}…"`);
  expect(quoteLine(`${"x".repeat(199)}😀`)).toBe(`"${"x".repeat(199)}…"`);
});

test("a name of one word stays as it is; another is quoted", () => {
  expect(nameOf("general")).toBe("general");
  expect(nameOf("Baruch (executor)")).toBe('"Baruch (executor)"');
  expect(nameOf("")).toBe('""');
});

test("a quotation of several lines keeps its text, but for what providers refuse", () => {
  expect(quoteBlock("a\n\n\tb\u200b")).toBe("> a\n>\n> \tb\u200b");
  expect(quoteBlock("a\0b\u001b[2J\ud83d")).toBe("> a\uFFFDb\uFFFD[2J\uFFFD");
});

test("a value as JSON is one line, cut between characters", () => {
  expect(endWithJson(own`[Tool: read]`, { a: "\u2028\u202e\n" }, 200)).toBe('[Tool: read] {"a":"\\u2028\\u202e\\n"}');
  expect(endWithJson(own`[Tool: read]`, `${"x".repeat(198)}😀`, 200)).toBe(`[Tool: read] "${"x".repeat(198)}…`);
  expect(endWithJson(own`[Tool: read]`, undefined, 200)).toBe("[Tool: read] ");
});
