import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { isAllInPatch, isUndecided, readJson } from "../../../src/services/worktrees/record.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { RECORD } from "./known-worktrees.ts";

test.each([
  ["what it is to have", '{"a":1,"b":2}', { a: 1 }],
  ["something else", '{"a":"1"}', undefined],
  ["a part of it", '{"a":', undefined],
])("of a file that has %s, that is read, or nothing", (_, text, expected) => {
  const file = join(temporaryFolder(), "file.json");
  const Shape = z.object({ a: z.number() });
  expect(readJson(file, Shape)).toBeUndefined();
  writeFileSync(file, text);
  expect(readJson(file, Shape)).toEqual(expected);
});

test("a file that cannot be read is no missing one", () => {
  const folder = join(temporaryFolder(), "file.json");
  mkdirSync(folder);
  expect(() => readJson(folder, z.object({}))).toThrow("EISDIR");
});

test.each([
  ["clean", false],
  ["applied", false],
  ["discarded", false],
  ["expired", true],
  ["sent", false],
] as const)("of changes whose worktree is gone, for it was %s, a person may decide: %s", (why, expected) => {
  expect(isUndecided({ ...RECORD, gone: { why, at: 0 } })).toBe(expected);
});

test("of those whose worktree is there a person may decide", () => {
  expect(isUndecided(RECORD)).toBe(true);
});

test("a patch has all where it was counted, and nothing is left out", () => {
  const changes = { run: 0, at: 0, files: [] };
  expect(isAllInPatch(changes)).toBe(true);
  expect(isAllInPatch({ ...changes, problem: "none" })).toBe(false);
  expect(isAllInPatch({ ...changes, leftOut: [{ path: "a", why: "ignored" }] })).toBe(false);
});
