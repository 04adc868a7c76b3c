import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { kilobytesLoadedWith } from "../../scripts/start-code.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "taskchart-start-code-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a built file that begins with this code and has that many bytes. */
const write = (name: string, bytes: number, code = "") => writeFileSync(join(folder, name), code.padEnd(bytes, " "));

test("what a file imports is loaded with it, each file once, and what it imports by import() is not", () => {
  write(
    "entry.js",
    1_000,
    'import{a}from"./shared.js";import"./effect.js";import fs from"node:fs";const b=()=>import("./later.js");',
  );
  write("shared.js", 2_000, 'import "./effect.js";export{a};');
  write("effect.js", 4_000);
  write("later.js", 8_000, 'import "./shared.js";');
  expect(kilobytesLoadedWith(join(folder, "entry.js"))).toBe(7);
  expect(kilobytesLoadedWith(join(folder, "later.js"))).toBe(14);
});
