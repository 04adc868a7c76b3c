import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");

/** The folders of `src` that have code of their own, as `src/…`. */
const folders = new Set(
  readdirSync(`${root}/src`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => dirname(`src/${path}`)),
);
folders.delete("src");

interface Rules {
  overrides: { includes: string[] }[];
}

const rules = JSON.parse(read("biome.rooms.jsonc").replaceAll(/^\s*\/\/.*$/gm, "")) as Rules;

/** Where imports are restricted; a folder may be covered together with those beside it. */
const restricted = new Set(rules.overrides.flatMap(({ includes }) => includes));

test.for([...folders])("%s says what it may import", (folder) => {
  const patterns = [`${folder}/**`, `${folder}/*.ts`, `${dirname(folder)}/*/**`];
  expect(patterns.some((pattern) => restricted.has(pattern))).toBe(true);
});

/** What hands the plugin to OpenCode 1: an adapter for another host would take its place. */
const ADAPTER = /^src\/(index|plugin|satellite|opencode-tools)\.ts$|^src\/services\/host\/|^src\/tui\//;

test("tools, engine and charts know nothing of OpenCode's plugin API", () => {
  const importing = readdirSync(`${root}/src`, { recursive: true, encoding: "utf8" })
    .map((path) => `src/${path}`)
    .filter((path) => path.endsWith(".ts") && /from "@opencode-ai\//.test(read(path)));
  expect(importing).not.toEqual([]);
  expect(importing.filter((path) => !ADAPTER.test(path))).toEqual([]);
});

const architecture = read("docs/architecture.md");

test.for([...folders])("docs/architecture.md says what %s is for", (folder) => {
  expect(architecture.includes(`\`${folder}`) || architecture.includes(`\`${dirname(folder)}\``)).toBe(true);
});

test("docs/architecture.md names only files that there are", () => {
  const named = [...architecture.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = ""]) => path.replace(/^src\//, ""));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(`${root}/src/${path}`))).toEqual([]);
});
