import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathsOf, projectOf, worktreeIdOf } from "../../../src/services/worktrees/folders.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

test("a directory belongs to the worktree that it lies in; the folder of all, and its neighbours, belong to none", () => {
  const root = join(temporaryFolder(), "worktrees");
  expect(worktreeIdOf(root, join(root, "a", "tree"))).toBeUndefined();
  mkdirSync(root);
  expect(worktreeIdOf(root, join(root, "a", "tree"))).toBe("a");
  expect(worktreeIdOf(root, join(root, "a", "tree", "sub", "tree"))).toBe("a");
  for (const directory of [root, join(root, "a"), join(root, "..", "x", "tree"), "/", "/project"]) {
    expect(worktreeIdOf(root, directory)).toBeUndefined();
  }
});

test("the project of a directory is named beside its worktree, also where the data folder is behind a link", () => {
  const folder = temporaryFolder();
  const root = join(folder, "real");
  mkdirSync(join(root, "a"), { recursive: true });
  symlinkSync(root, join(folder, "link"));
  const inside = join(root, "a", "tree");
  expect(projectOf(join(folder, "link"), inside)).toBeUndefined();
  writeFileSync(pathsOf(root, "a").record, JSON.stringify({ project: "/project" }));
  expect(projectOf(join(folder, "link"), inside)).toBe("/project");
  expect(projectOf(root, "/project")).toBeUndefined();
});
