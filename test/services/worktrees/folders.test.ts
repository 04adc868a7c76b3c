import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  idsIn,
  isCutOff,
  isHalfApplied,
  isThere,
  ownWorktreeOf,
  pathsOf,
  projectOf,
  worktreeIdOf,
  worktreesFolder,
} from "../../../src/services/worktrees/folders.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

test("a directory belongs to the worktree that it lies in; the folder of all, and its neighbours, belong to none", () => {
  const root = join(temporaryFolder(), "worktrees");
  expect(worktreeIdOf(root, join(root, "a", "tree"))).toBeUndefined();
  mkdirSync(root);
  expect(worktreeIdOf(root, join(root, "a", "tree"))).toBe("a");
  expect(worktreeIdOf(root, join(root, "a", "tree", "sub", "tree"))).toBe("a");
  for (const directory of [
    root,
    join(root, "a"),
    join(root, "..", "x", "tree"),
    join(root, "..", "tree"),
    "/",
    "/project",
  ]) {
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
  expect(projectOf(root, join(root, "b", "tree"))).toBeUndefined();
  writeFileSync(pathsOf(root, "a").record, JSON.stringify({ project: 1 }));
  expect(projectOf(root, inside)).toBeUndefined();
});

test("the files of a worktree are where the versions before put them", () => {
  expect(worktreesFolder("/data")).toBe("/data/worktrees");
  expect(pathsOf("/data/worktrees", "a")).toEqual({
    folder: "/data/worktrees/a",
    tree: "/data/worktrees/a/tree",
    record: "/data/worktrees/a/worktree.json",
    changes: "/data/worktrees/a/changes.json",
    patch: "/data/worktrees/a/changes.patch",
    received: "/data/worktrees/a/received.patch",
    applying: "/data/worktrees/a/applying.json",
    applied: "/data/worktrees/a/applied.json",
  });
});

test("a task has a worktree of its own that it does not share", () => {
  const worktree = { id: "a", directory: "/d" };
  expect(ownWorktreeOf({ worktree: { ...worktree, isShared: false } })).toBe("a");
  expect(ownWorktreeOf({ worktree: { ...worktree, isShared: true } })).toBeUndefined();
  expect(ownWorktreeOf({})).toBeUndefined();
});

test("what there is of worktrees is seen by their files", () => {
  const root = join(temporaryFolder(), "worktrees");
  expect(idsIn(root)).toEqual([]);
  const paths = pathsOf(root, "a");
  mkdirSync(paths.folder, { recursive: true });
  expect(idsIn(root)).toEqual(["a"]);
  const seen = () => [isThere(paths), isHalfApplied(paths), isCutOff(paths)];
  expect(seen()).toEqual([false, false, false]);
  mkdirSync(paths.tree);
  writeFileSync(paths.applied, "");
  expect(seen()).toEqual([true, false, true]);
  rmSync(paths.applied);
  writeFileSync(paths.applying, "");
  expect(seen()).toEqual([true, true, true]);
});
