import { chmodSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writePatch } from "../../../../src/services/worktrees/git/commit.ts";
import { withObjects } from "../../../../src/services/worktrees/git/working-tree.ts";
import { newRepository, temporaryFolder } from "../../../fakes/repository.ts";
import { apply, branchOff } from "./branch-off.ts";

const LINES = Array.from({ length: 20 }, (_, index) => `line ${index}`);
const text = (changes: Record<number, string> = {}) =>
  LINES.map((line, index) => changes[index] ?? line)
    .join("\n")
    .concat("\n");

test("the changes of a worktree are counted by file, commits that were made in it included", async () => {
  const home = newRepository({ "a.txt": text(), "gone.txt": "1\n2\n", "bytes.bin": "\0" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 3: "changed" }), "sub/new file.txt": "one\ntwo\n" });
  tree.commit();
  rmSync(tree.path("gone.txt"));
  writeFileSync(tree.path("bytes.bin"), Buffer.from([0, 1]));
  await expect(tree.changes()).resolves.toEqual([
    { path: "a.txt", change: "modified", added: 1, removed: 1 },
    { path: "bytes.bin", change: "modified" },
    { path: "gone.txt", change: "deleted", added: 0, removed: 2 },
    { path: "sub/new file.txt", change: "added", added: 2, removed: 0 },
  ]);
});

test("a patch is what git apply takes", async () => {
  const home = newRepository({ "a.txt": text() });
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 3: "changed" }) });
  writeFileSync(tree.path("bytes"), Buffer.from([0, 1, 2]));
  const patch = join(temporaryFolder(), "changes.patch");
  const end = await tree.end();
  await withObjects(tree.own, (objects) => writePatch(objects, tree.base, end, patch));
  home.git("apply", patch);
  expect(home.read("a.txt") + home.read("bytes")).toBe(tree.read("a.txt") + tree.read("bytes"));
});

test("two that write the same patch at once, as before and after a takeover, both succeed", async () => {
  const home = newRepository({ "a.txt": text() });
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 3: "changed" }) });
  const patch = join(temporaryFolder(), "changes.patch");
  const end = await tree.end();
  const write = () => withObjects(tree.own, (objects) => writePatch(objects, tree.base, end, patch));
  await Promise.all([write(), write(), write(), write()]);
  home.git("apply", patch);
  expect(home.read("a.txt")).toBe(tree.read("a.txt"));
});

test("changes are applied beside the caller's own, in the same file too; what is staged stays staged", async () => {
  const home = newRepository({ "a.txt": text(), "b.txt": "b", "gone.txt": "1", "run.sh": "" });
  home.write({ "b.txt": "staged" });
  home.git("add", "b.txt");
  const tree = await branchOff(home);
  home.write({ "a.txt": text({ 1: "ours" }), "own.txt": "own" });
  tree.write({ "a.txt": text({ 18: "theirs" }), "new/file.txt": "new" });
  rmSync(tree.path("gone.txt"));
  chmodSync(tree.path("run.sh"), 0o755);
  symlinkSync("a.txt", tree.path("link"));
  writeFileSync(tree.path("bytes"), Buffer.from([0, 255]));
  const index = home.git("ls-files", "--stage");

  const applied = await apply(home, tree);

  expect(applied).toMatchObject({ ok: true });
  expect(applied.ok && applied.files.map(({ path }) => path)).toEqual([
    "a.txt",
    "bytes",
    "gone.txt",
    "link",
    "new/file.txt",
    "run.sh",
  ]);
  expect(home.read("a.txt")).toBe(text({ 1: "ours", 18: "theirs" }));
  expect(home.read("new/file.txt") + home.read("own.txt")).toBe("newown");
  expect(() => home.read("gone.txt")).toThrow("ENOENT");
  expect(lstatSync(home.path("run.sh")).mode & 0o111).not.toBe(0);
  expect(lstatSync(home.path("link")).isSymbolicLink()).toBe(true);
  expect(home.git("ls-files", "--stage")).toBe(index);
});

test("changes that are applied twice change nothing the second time", async () => {
  const home = newRepository({ "a.txt": text() });
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 5: "theirs" }), "new.txt": "new" });
  await apply(home, tree);
  const before = home.standing();
  await expect(apply(home, tree)).resolves.toEqual({ ok: true, files: [] });
  expect(home.standing()).toBe(before);
});

test("changes reach a tree without a commit", async () => {
  const home = newRepository();
  home.write({ "a.txt": text() });
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 5: "theirs" }) });
  await expect(apply(home, tree)).resolves.toMatchObject({ ok: true });
  expect(home.read("a.txt")).toBe(text({ 5: "theirs" }));
});

test.each<[kind: string, path: string, ours: Record<string, string> | undefined, theirs: string | undefined]>([
  ["content", "a.txt", { "a.txt": text({ 5: "ours" }) }, text({ 5: "theirs" })],
  ["add/add", "new.txt", { "new.txt": "ours" }, "theirs"],
  ["modify/delete", "a.txt", { "a.txt": text({ 5: "ours" }) }, undefined],
  ["modify/delete", "a.txt", undefined, text({ 5: "theirs" })],
  ["content", "bytes", { bytes: "\0\x02" }, "\0\x03"],
  ["file/directory", "place", { "place/inside.txt": "ours" }, "theirs"],
])("a %s conflict is named, and nothing is changed", async (kind, path, ours, theirs) => {
  const home = newRepository({ "a.txt": text(), bytes: "\0\x01", "b.txt": "b" });
  const tree = await branchOff(home);
  tree.write({ "b.txt": "this alone would do" });
  if (ours) home.write(ours);
  else rmSync(home.path(path));
  if (theirs === undefined) rmSync(tree.path(path));
  else tree.write({ [path]: theirs });
  const before = [home.standing(), home.read("b.txt")];
  const applied = await apply(home, tree);
  expect(applied.ok).toBe(false);
  const conflicts = applied.ok ? [] : applied.conflicts;
  expect(conflicts.map((conflict) => conflict.path)).toEqual([expect.stringMatching(new RegExp(`^${path}`))]);
  expect(conflicts[0]?.kind).toBe(kind);
  expect([home.standing(), home.read("b.txt")]).toEqual(before);
});

test("an ignored file is not overwritten, and nothing else is changed either", async () => {
  const home = newRepository({ "a.txt": text(), ".gitignore": "local.txt\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 5: "theirs" }), "local.txt": "theirs" });
  tree.git("add", "--force", "local.txt");
  home.write({ "local.txt": "precious" });
  await expect(apply(home, tree)).rejects.toThrow(/local\.txt/);
  expect(home.read("local.txt")).toBe("precious");
  expect(home.read("a.txt")).toBe(text());
});

test("line endings of the caller's tree are kept where git converts them", async () => {
  const home = newRepository({ ".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\r\ntwo\r\nthree\r\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "one\r\n2\r\nthree\r\n" });
  await apply(home, tree);
  expect(home.read("a.txt")).toBe("one\r\n2\r\nthree\r\n");
});

test("a folder of the caller that is not in the tree is left alone", async () => {
  const home = newRepository({ "a.txt": text() });
  mkdirSync(home.path("empty"));
  const tree = await branchOff(home);
  tree.write({ "a.txt": text({ 1: "theirs" }) });
  await apply(home, tree);
  expect(lstatSync(home.path("empty")).isDirectory()).toBe(true);
});

test("files that a filter stores in another form, as git LFS does, are carried and applied as they stand", async () => {
  const home = newRepository();
  home.git("config", "filter.loud.clean", "tr a-z A-Z");
  home.git("config", "filter.loud.smudge", "tr A-Z a-z");
  home.git("config", "filter.loud.required", "true");
  home.write({ ".gitattributes": "*.low filter=loud\n", "a.low": text() });
  home.commit();
  home.write({ "a.low": text({ 2: "ours" }) });
  const tree = await branchOff(home);
  expect(tree.read("a.low")).toBe(text({ 2: "ours" }));
  tree.write({ "a.low": text({ 2: "ours", 15: "theirs" }), "b.low": "new\n" });
  await apply(home, tree);
  expect(home.read("a.low") + home.read("b.low")).toBe(`${text({ 2: "ours", 15: "theirs" })}new\n`);
});
