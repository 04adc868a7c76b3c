import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { forgetPlaced, recover } from "../../../../src/services/worktrees/git/placing.ts";
import { newRepository, type Repository, temporaryFolder } from "../../../fakes/repository.ts";
import { isNightly } from "../../../nightly.ts";
import { apply, branchOff, type Tree, treeOfFiles } from "./branch-off.ts";

const CHILD = new URL("apply-child.ts", import.meta.url).pathname;

/** Changes of each kind: modified, new, deleted, of another mode, a link, a file for a folder, and a folder for a file. */
const begin = async () => {
  const home = newRepository({
    "a.txt": "1\n",
    "gone/g.txt": "g\n",
    "run.sh": "#!/bin/sh\n",
    "target.txt": "t\n",
    "folder/one.txt": "1\n",
    "folder/sub/two.txt": "2\n",
    file: "f\n",
  });
  symlinkSync("a.txt", home.path("link"));
  home.commit();
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n", "new/deep/n.txt": "n\n", "new/m.txt": "m\n", "z.txt": "z\n" });
  rmSync(tree.path("gone"), { recursive: true });
  rmSync(tree.path("folder"), { recursive: true });
  rmSync(tree.path("file"));
  rmSync(tree.path("link"));
  tree.write({ folder: "now a file\n", "file/inside.txt": "i\n" });
  symlinkSync("target.txt", tree.path("link"));
  chmodSync(tree.path("run.sh"), 0o755);
  return { home, tree };
};

const run = async (home: Repository, tree: Tree, killedBefore?: number, limits = "") => {
  const { base, journal } = tree;
  const given = JSON.stringify({ top: home.top, base, end: await tree.end(), journal, killedBefore });
  const command = `${limits} exec "$0" "$1" "$2"`;
  return spawnSync("/bin/sh", ["-c", command, process.execPath, CHILD, given], { encoding: "utf8" });
};

/** Applies in processes that are killed, each a step later and after the one before was undone, until something is so. */
const killedOnce = async (home: Repository, tree: Tree, isSo: () => boolean) => {
  for (let step = 3; ; step += 1) {
    expect((await run(home, tree, step)).signal).toBe("SIGKILL");
    if (isSo()) return;
    await recover(tree.journal);
  }
};

const leftovers = (home: Repository) => readdirSync(home.path(".git")).filter((name) => name.startsWith(".taskchart"));

test("a process that is killed before any step leaves the tree as it was, or as it is to be, to the next one", async () => {
  const { home, tree } = await begin();
  const before = treeOfFiles(home.top);
  const expected = treeOfFiles(tree.top);
  let killed = 0;
  // Every other step: the others are for the night.
  const stride = isNightly ? 1 : 2;
  for (let step = 1; ; step += stride) {
    const ended = await run(home, tree, step);
    if (ended.signal !== "SIGKILL") break;
    killed += 1;
    const cutOff = await recover(tree.journal);
    if (cutOff?.became === "finished") {
      expect(treeOfFiles(home.top)).toEqual(expected);
      await expect(apply(home, tree)).resolves.toEqual({ ok: true, files: [] });
      home.git("checkout", "--quiet", ".");
      home.git("clean", "--quiet", "-fd");
    } else expect(cutOff).toMatchObject({ became: "undone", tree: home.top, left: [] });
    expect(treeOfFiles(home.top)).toEqual(before);
    expect(leftovers(home)).toEqual([]);
    expect(existsSync(tree.journal.applying)).toBe(false);
  }
  // Before and after writing, once for each thing that is put in place, and before and after that is noted.
  expect(killed * stride).toBeGreaterThan(10);
  expect(treeOfFiles(home.top)).toEqual(expected);
});

test("where a process was killed while it undid that, the next one goes on", async () => {
  const { home, tree } = await begin();
  const before = treeOfFiles(home.top);
  const whole = await run(home, tree);
  const { steps } = JSON.parse(whole.stdout);
  forgetPlaced(tree.journal);
  home.git("checkout", "--quiet", ".");
  home.git("clean", "--quiet", "-fd");
  // Everything is in place, and that is not noted.
  expect((await run(home, tree, steps - 1)).signal).toBe("SIGKILL");
  const { staging, units } = JSON.parse(readFileSync(tree.journal.applying, "utf8"));
  const at = units.findIndex(({ path }: { path: string }) => path === "a.txt");
  renameSync(join(staging, "old", String(at), "a.txt"), home.path("a.txt"));
  rmSync(home.path("z.txt"));
  await expect(recover(tree.journal)).resolves.toMatchObject({ became: "undone", left: [] });
  expect(treeOfFiles(home.top)).toEqual(before);
  await expect(recover(tree.journal)).resolves.toBeUndefined();
});

test("what a person changed after the crash stays, and is named", async () => {
  const { home, tree } = await begin();
  await killedOnce(home, tree, () => home.read("a.txt") === "2\n");
  home.write({ "a.txt": "the person's\n" });
  await expect(recover(tree.journal)).resolves.toMatchObject({ became: "undone", left: [{ path: "a.txt" }] });
  expect(home.read("a.txt")).toBe("the person's\n");
  expect(home.read("file")).toBe("f\n");
});

test("where a file cannot be written to its end, as on a full disk, nothing is changed, and it can be applied later", async () => {
  const home = newRepository({ "a.txt": "1\n", "big.bin": "x" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n", "big.bin": "y".repeat(500_000), "z.txt": "z\n" });
  await tree.end();
  const before = treeOfFiles(home.top);
  // Objects are compressed: only the file itself is larger than what may be written.
  const ended = await run(home, tree, undefined, "ulimit -f 400;");
  expect(ended.stdout).toContain("GitError: git checkout-index was stopped by SIGXFSZ");
  expect(treeOfFiles(home.top)).toEqual(before);
  expect(leftovers(home)).toEqual([]);
  expect(existsSync(tree.journal.applying)).toBe(false);
  await expect(apply(home, tree)).resolves.toMatchObject({ ok: true });
  expect(statSync(home.path("big.bin")).size).toBe(500_000);
});

test.each([
  ["a file that is to be changed", "z.txt", "changed meanwhile\n"],
  ["a file that is to be new", "y.txt", "made meanwhile\n"],
])(
  "%s is not overwritten when somebody writes it at the last moment, and all else is taken back",
  async (_, path, text) => {
    const home = newRepository({ "a.txt": "1\n", "z.txt": "1\n" });
    const tree = await branchOff(home);
    tree.write({ "a.txt": "2\n", "y.txt": "2\n", "z.txt": "2\n" });
    const onStep = (step: string) => {
      if (step === `placing ${path}`) writeFileSync(home.path(path), text);
    };
    await expect(apply(home, tree, { onStep })).rejects.toThrow(`${path} was changed in the meantime, so apply again`);
    expect(home.read(path)).toBe(text);
    expect(home.read("a.txt")).toBe("1\n");
    expect(leftovers(home)).toEqual([]);
  },
);

test("what a person has in the way of a folder or in a folder that is to go is named, and stays", async () => {
  const home = newRepository({ "a.txt": "1\n", "folder/one.txt": "1\n", ".gitignore": "*.local\n" });
  const tree = await branchOff(home);
  rmSync(tree.path("folder"), { recursive: true });
  tree.write({ "a.txt": "2\n", folder: "a file\n" });
  home.write({ "folder/own.local": "own\n" });
  await expect(apply(home, tree)).rejects.toThrow("files that git does not know are in the way: folder/own.local");
  expect(home.read("folder/own.local") + home.read("folder/one.txt") + home.read("a.txt")).toBe("own\n1\n1\n");
});

test("a file that nobody else may read stays so", async () => {
  const home = newRepository({ "secret.txt": "1\n" });
  chmodSync(home.path("secret.txt"), 0o600);
  const tree = await branchOff(home);
  tree.write({ "secret.txt": "2\n" });
  await apply(home, tree);
  expect(statSync(home.path("secret.txt")).mode & 0o777).toBe(0o600);
});

test("a link to a folder elsewhere is not followed", async () => {
  const elsewhere = temporaryFolder();
  const home = newRepository({ "a.txt": "1\n", ".gitignore": "out\n" });
  const tree = await branchOff(home);
  tree.write({ "out/b.txt": "b\n" });
  tree.git("add", "--force", "out/b.txt");
  symlinkSync(elsewhere, home.path("out"));
  await expect(apply(home, tree)).rejects.toThrow("files that git does not know are in the way: out");
  expect(readdirSync(elsewhere)).toEqual([]);
});

test.each([
  ["a file that is to be changed", "a.txt", "a.txt"],
  ["a file that is to be new", "y.txt", "y.txt"],
  ["a file in a folder that is to be new", "new/own.txt", "new"],
  ["a file of a folder that a file replaces", "folder/one.txt", "folder"],
  ["a new file in a folder that a file replaces", "folder/own.txt", "folder"],
])("%s is kept when somebody saves it while the new files are written", async (_, path, named) => {
  const home = newRepository({ "a.txt": "1\n", "folder/one.txt": "1\n" });
  const tree = await branchOff(home);
  rmSync(tree.path("folder"), { recursive: true });
  tree.write({ "a.txt": "2\n", "y.txt": "2\n", "new/n.txt": "n\n", folder: "a file\n" });
  const onStep = (step: string) => {
    if (step === "writing") home.write({ [path]: "of the person\n" });
  };
  await expect(apply(home, tree, { onStep })).rejects.toThrow(`${named} was changed in the meantime, so apply again`);
  expect(home.read(path)).toBe("of the person\n");
  const changed = home.git("status", "--porcelain", "--untracked-files=all").trim().split("\n");
  expect(changed).toEqual([expect.stringContaining(path)]);
  expect(leftovers(home)).toEqual([]);
});

test("a file that a folder had replaced is kept when a person adds to that folder after the crash", async () => {
  const { home, tree } = await begin();
  await killedOnce(home, tree, () => existsSync(home.path("file/inside.txt")));
  home.write({ "file/own.txt": "own\n" });
  const cutOff = await recover(tree.journal);
  const before = expect.stringMatching(/\/file$/);
  expect(cutOff).toEqual({
    became: "undone",
    tree: home.top,
    files: expect.anything(),
    left: [{ path: "file", before }],
  });
  expect(home.read("file/own.txt")).toBe("own\n");
  expect(readFileSync(cutOff?.left[0]?.before ?? "", "utf8")).toBe("f\n");
});

test("a file that was removed is kept when a person makes another one there after the crash", async () => {
  const { home, tree } = await begin();
  await killedOnce(home, tree, () => !existsSync(home.path("gone/g.txt")));
  home.write({ "gone/g.txt": "own\n" });
  const cutOff = await recover(tree.journal);
  expect(cutOff?.left).toMatchObject([{ path: "gone/g.txt" }]);
  expect(home.read("gone/g.txt")).toBe("own\n");
  expect(readFileSync(cutOff?.left[0]?.before ?? "", "utf8")).toBe("g\n");
});
