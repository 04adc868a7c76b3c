import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** The terms of a text and their meanings, each as one line. */
const termsIn = (text: string, form: RegExp) =>
  [...text.matchAll(form)].map(([, term, meaning]) => `${term}: ${meaning}`);

test("CONTRIBUTING.md explains the same words as src/task.ts", () => {
  const [, block = ""] = read("src/task.ts").split(/^ \* Terminology$|^ \*\/$/m);
  const inCode = termsIn(block.replaceAll("\n *   ", " "), /^ \* - ([^:]+): (.+)$/gm);
  expect(inCode.length).toBeGreaterThan(20);
  expect(termsIn(read("CONTRIBUTING.md"), /^\| \*\*(.+)\*\* \| (.+) \|$/gm)).toEqual(inCode);
});
