import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { statechartFiles } from "../../scripts/statecharts/files.ts";

const folder = fileURLToPath(new URL("../../statecharts", import.meta.url));
const files = await statechartFiles();

test("the folder holds the files that are made from the machines, and no others", () => {
  expect(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .flatMap((entry) => (entry.isFile() ? relative(folder, join(entry.parentPath, entry.name)) : []))
      .toSorted(),
  ).toEqual(Object.keys(files).toSorted());
});

test.for(Object.keys(files))("%s is what the machines say", (name) => {
  expect(readFileSync(`${folder}/${name}`, "utf8"), "a machine has changed: run `npm run statecharts`").toBe(
    files[name],
  );
});

test("nothing in them depends on where or when they are made", async () => {
  expect(await statechartFiles()).toEqual(files);
  for (const text of Object.values(files)) expect(text).not.toContain(process.cwd());
});

test("whatever may happen to a task, wherever it is, the table says what follows, and why what is asked for is refused", () => {
  const [, section = ""] = (files["README.md"] ?? "").split("## What happens if");
  const [, , heads = "", , ...rows] = section.split("\n## ")[0]?.trim().split("\n") ?? [];
  expect(heads).toContain("| paused |");
  expect(rows.length).toBeGreaterThan(12);
  for (const row of rows) {
    expect(row.split("|")).toHaveLength(heads.split("|").length);
    expect(row).not.toMatch(/undefined|\| +\||takes no [A-Z]/);
  }
});
