import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readRooms, roomRules } from "../../scripts/room-rules.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");

/** The files below the folders of `src`, as `src/…`. */
const files = readdirSync(`${root}/src`, { recursive: true, encoding: "utf8" })
  .map((path) => `src/${path}`)
  .filter((path) => /\.tsx?$/.test(path) && dirname(path) !== "src");

test("biome.rooms.jsonc is what the table of docs/architecture.md says", () => {
  expect(read("biome.rooms.jsonc"), "the table has changed: run `npm run rooms`").toBe(roomRules());
});

test("each file has a line in that table, or its folder has: one without could import everything", () => {
  const known = new Set(readRooms(read("docs/architecture.md")).flatMap(({ places }) => places));
  expect(files.length).toBeGreaterThan(200);
  expect(files.filter((file) => !known.has(file) && !known.has(dirname(file)))).toEqual([]);
});

/** What is made for OpenCode 1: its hooks, its tools, its calls, its interface. An adapter for another host would take its place. */
const ADAPTER = /^src\/(index|elisha|start|shared-start|plugin)\.ts$|^src\/tools\/|^src\/services\/host\/|^src\/tui\//;

test("engine and charts know nothing of OpenCode's plugin API", () => {
  const importing = readdirSync(`${root}/src`, { recursive: true, encoding: "utf8" })
    .map((path) => `src/${path}`)
    .filter((path) => path.endsWith(".ts") && /from "@opencode-ai\//.test(read(path)));
  expect(importing).not.toEqual([]);
  expect(importing.filter((path) => !ADAPTER.test(path))).toEqual([]);
});

const architecture = read("docs/architecture.md");

test("docs/architecture.md names only files that there are", () => {
  const named = [...architecture.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = ""]) => path.replace(/^src\//, ""));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(`${root}/src/${path}`))).toEqual([]);
});
