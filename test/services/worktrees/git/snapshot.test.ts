import { chmodSync, lstatSync, readlinkSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GitError } from "../../../../src/services/worktrees/git/git.ts";
import { takeSnapshot } from "../../../../src/services/worktrees/git/snapshot.ts";
import { addWorktree, findTree, removeWorktree, treeAt } from "../../../../src/services/worktrees/git/working-tree.ts";
import { newRepository, repositoryAt, temporaryFolder } from "../../../fakes/repository.ts";

/** Makes a worktree of a snapshot of the repository as it stands. */
const copyOf = async (top: string) => {
  const { commit } = await takeSnapshot(await treeAt(top));
  const path = join(temporaryFolder(), "tree");
  await addWorktree(await treeAt(top), path, commit);
  return repositoryAt(path);
};

test("a snapshot has what is staged, what is not, new and deleted files, modes, links and bytes; and changes nothing", async () => {
  const home = newRepository({
    "kept.txt": "kept",
    "staged.txt": "1",
    "changed.txt": "1",
    "gone.txt": "1",
    "run.sh": "",
  });
  home.write({ "staged.txt": "2", ".gitignore": "secret" });
  home.git("add", "staged.txt");
  home.write({ "changed.txt": "2", "new/file ä.txt": "new", secret: "s" });
  rmSync(home.path("gone.txt"));
  chmodSync(home.path("run.sh"), 0o755);
  symlinkSync("kept.txt", home.path("link"));
  writeFileSync(home.path("bytes"), Buffer.from([0, 255, 0, 10]));
  const before = home.standing();

  const copy = await copyOf(home.top);

  expect(home.standing()).toBe(before);
  expect(copy.read("staged.txt") + copy.read("changed.txt") + copy.read("new/file ä.txt")).toBe("22new");
  expect(() => copy.read("gone.txt")).toThrow("ENOENT");
  expect(() => copy.read("secret")).toThrow("ENOENT");
  expect(lstatSync(copy.path("run.sh")).mode & 0o111).not.toBe(0);
  expect(readlinkSync(copy.path("link"))).toBe("kept.txt");
  expect(copy.read("bytes")).toBe(home.read("bytes"));
  expect(copy.git("status", "--porcelain", "-uall")).toBe("");
  expect(home.git("branch", "--all").trim()).toBe("* main");
});

test("a repository without a commit is carried, and stays without one", async () => {
  const home = newRepository();
  home.write({ "first.txt": "1" });
  const copy = await copyOf(home.top);
  expect(copy.read("first.txt")).toBe("1");
  expect(() => home.git("rev-parse", "--verify", "HEAD")).toThrow();
});

test("a directory below the top belongs to the top's tree", async () => {
  const home = newRepository({ "a/b.txt": "1" });
  await expect(treeAt(home.path("a"))).resolves.toMatchObject({ top: home.top });
});

test("a folder that is no repository is refused in git's own words", async () => {
  await expect(treeAt(temporaryFolder())).rejects.toThrow(/^not a git repository/);
});

test("repositories in the tree are named and left out, one without a commit as well", async () => {
  const home = newRepository({ "a.txt": "1" });
  newRepository({ "b.txt": "1" }, home.path("inner"));
  newRepository(undefined, home.path("empty"));
  home.write({ "empty/c.txt": "1" });
  const before = home.standing();
  const { commit, repositories } = await takeSnapshot(await treeAt(home.top));
  expect(repositories).toEqual(["empty", "inner"]);
  expect(home.git("ls-tree", "-r", "--name-only", commit).trim()).toBe("a.txt");
  expect(home.standing()).toBe(before);
});

test("hooks do not run, and variables that name another repository have no effect", async () => {
  const home = newRepository({ "a.txt": "1" });
  const mark = join(temporaryFolder(), "mark");
  home.write({ ".git/hooks/post-checkout": `#!/bin/sh\ntouch ${mark}\n` });
  chmodSync(home.path(".git/hooks/post-checkout"), 0o755);
  process.env.GIT_DIR = "/nowhere";
  try {
    await copyOf(home.top);
  } finally {
    delete process.env.GIT_DIR;
  }
  expect(() => lstatSync(mark)).toThrow("ENOENT");
});

test("a worktree that cannot be written leaves nothing behind", async () => {
  const home = newRepository({ "a.txt": "1", ".gitattributes": "*.txt filter=broken" });
  home.git("config", "filter.broken.clean", "cat");
  home.git("config", "filter.broken.smudge", "false");
  home.git("config", "filter.broken.required", "true");
  const { commit } = await takeSnapshot(await treeAt(home.top));
  const path = join(temporaryFolder(), "tree");
  await expect(addWorktree(await treeAt(home.top), path, commit)).rejects.toThrow(GitError);
  expect(() => lstatSync(path)).toThrow("ENOENT");
  expect(home.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

test("a worktree whose folder somebody removed is forgotten by git as well, and one whose repository is gone is removed", async () => {
  const home = newRepository({ "a.txt": "1" });
  const copy = await copyOf(home.top);
  rmSync(copy.top, { recursive: true });
  await removeWorktree(await findTree(home.top), copy.top);
  expect(home.git("worktree", "list").trim().split("\n")).toHaveLength(1);
  const other = await copyOf(home.top);
  rmSync(home.top, { recursive: true });
  await removeWorktree(await findTree(home.top), other.top);
  expect(() => lstatSync(other.top)).toThrow("ENOENT");
});

test("a file of the same size that changes in the moment in which the index was written is seen", async () => {
  const home = newRepository({ "a.txt": "0" });
  home.git("config", "core.trustctime", "false");
  const moment = new Date(Date.UTC(2026, 0, 1));
  utimesSync(home.path("a.txt"), moment, moment);
  home.git("add", "a.txt");
  utimesSync(home.path(".git/index"), moment, moment);
  home.write({ "a.txt": "1" });
  utimesSync(home.path("a.txt"), moment, moment);
  const { commit } = await takeSnapshot(await treeAt(home.top));
  expect(home.git("show", `${commit}:a.txt`)).toBe("1");
});

test("a worktree for which a disk has no room is refused with the sizes", async () => {
  const home = newRepository({ "big.bin": "x".repeat(4_000_000) });
  const { commit } = await takeSnapshot(await treeAt(home.top));
  const path = join(temporaryFolder(), "tree");
  const added = addWorktree(await treeAt(home.top), path, commit, async () => 2_100_000);
  await expect(added).rejects.toThrow("the disk has 3 MB left, and the files take 4 MB");
  expect(home.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});
