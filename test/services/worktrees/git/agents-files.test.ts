import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { findTree, removeWorktree } from "../../../../src/services/worktrees/git/working-tree.ts";
import { leftOutIn } from "../../../../src/services/worktrees/read-changes.ts";
import type { ChangedFile } from "../../../../src/task.ts";
import { newRepository, type Repository, repositoryAt, temporaryFolder } from "../../../fakes/repository.ts";
import { apply, branchOff, type Tree } from "./branch-off.ts";

/** Makes a git directory in which everything that git may run leaves a mark. Returns the mark. */
const trapIn = (gitDir: string): string => {
  const mark = join(temporaryFolder(), "ran");
  const script = join(dirname(mark), "program");
  writeFileSync(script, `#!/bin/sh\ntouch ${mark}\ncat\n`, { mode: 0o755 });
  const trap = repositoryAt(gitDir);
  for (const folder of ["objects", "refs", "hooks", "info"]) mkdirSync(trap.path(folder), { recursive: true });
  trap.write({
    HEAD: "ref: refs/heads/main\n",
    config: `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${script}\n\thooksPath = hooks\n\tworktree = /\n[filter "evil"]\n\tclean = ${script}\n\tsmudge = ${script}\n\trequired = true\n[diff "evil"]\n\ttextconv = ${script}\n`,
    "info/attributes": "* filter=evil diff=evil\n",
  });
  for (const hook of ["post-index-change", "reference-transaction", "post-checkout"])
    trap.write({ [`hooks/${hook}`]: `#!/bin/sh\ntouch ${mark}\n` });
  for (const hook of ["post-index-change", "reference-transaction", "post-checkout"])
    chmodSync(trap.path(`hooks/${hook}`), 0o755);
  return mark;
};

/** Ways in which an agent that may write files makes a worktree lead to a git directory of its own. */
const TAMPERED: [what: string, tamper: (tree: Tree) => string][] = [
  [
    "a .git file that names a folder of the worktree",
    (tree) => {
      tree.write({ ".git": `gitdir: ${tree.path("evil")}\n` });
      return trapIn(tree.path("evil"));
    },
  ],
  [
    "a .git folder",
    (tree) => {
      rmSync(tree.path(".git"));
      return trapIn(tree.path(".git"));
    },
  ],
  [
    "a .git that is a link",
    (tree) => {
      rmSync(tree.path(".git"));
      symlinkSync("evil", tree.path(".git"));
      return trapIn(tree.path("evil"));
    },
  ],
  [
    "a .git folder with a commondir",
    (tree) => {
      rmSync(tree.path(".git"));
      tree.write({ ".git/HEAD": "ref: refs/heads/main\n", ".git/commondir": "../evil\n" });
      return trapIn(tree.path("evil"));
    },
  ],
  ["a repository in it", (tree) => trapIn(tree.path("inner/.git"))],
  ["a folder that looks like a bare repository", (tree) => trapIn(tree.path("bare"))],
  [
    "attributes that name a filter",
    (tree) => {
      tree.write({ ".gitattributes": "* filter=evil diff=evil merge=evil\n" });
      return trapIn(tree.path("evil"));
    },
  ],
];

test.each(TAMPERED)("%s: nothing that it names runs, and the changes are counted and applied", async (_, tamper) => {
  const home = newRepository({ "a.txt": "1\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n", "inner/b.txt": "b\n" });
  const mark = tamper(tree);
  const paths = (await tree.changes()).map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["a.txt", "inner/b.txt"]));
  expect(paths.some((path) => path.split("/").includes(".git"))).toBe(false);
  await expect(apply(home, tree)).resolves.toMatchObject({ ok: true });
  expect(home.read("a.txt") + home.read("inner/b.txt")).toBe("2\nb\n");
  await removeWorktree(await findTree(home.top), tree.top);
  expect(home.git("worktree", "list").trim().split("\n")).toHaveLength(1);
  expect(existsSync(mark)).toBe(false);
});

test("a filter of the person's that is a file of the project runs as the person has it, not as the agent wrote it", async () => {
  const mark = join(temporaryFolder(), "ran");
  const home = newRepository({
    "tools/up.sh": "#!/bin/sh\ntr a-z A-Z\n",
    ".gitattributes": "*.low filter=own\n",
    "a.low": "one\ntwo\nthree\nfour\nfive\n",
  });
  chmodSync(home.path("tools/up.sh"), 0o755);
  home.git("config", "filter.own.clean", "tools/up.sh");
  home.git("config", "filter.own.smudge", "tr A-Z a-z");
  home.git("config", "filter.own.required", "true");
  rmSync(home.path(".git/index"));
  home.commit();
  const tree = await branchOff(home);
  tree.write({
    "tools/up.sh": `#!/bin/sh\ntouch ${mark}\ncat\n`,
    "a.low": "one\ntwo\nthree\nfour\n5\n",
    "b.low": "new\n",
  });
  home.write({ "a.low": "1\ntwo\nthree\nfour\nfive\n" });
  const changes = await tree.changes();
  expect(changes.map(({ path }) => path)).toEqual(["a.low", "b.low", "tools/up.sh"]);
  expect(changes[0]).toMatchObject({ added: 1, removed: 1 });
  await expect(apply(home, tree)).resolves.toMatchObject({ ok: true });
  expect(home.read("a.low")).toBe("1\ntwo\nthree\nfour\n5\n");
  expect(home.read("b.low")).toBe("new\n");
  expect(existsSync(mark)).toBe(false);
});

test("repositories that an agent made, with commits, without, and within each other, are taken in with their files", async () => {
  const home = newRepository({ "a.txt": "1\n", ".gitignore": "*.log\n" });
  const tree = await branchOff(home);
  newRepository({ "v.txt": "v\n", "deep/w.txt": "w\n", ".gitignore": "made/\n" }, tree.path("vendor"));
  newRepository({ "x.txt": "x\n" }, tree.path("vendor/deep/inner"));
  newRepository(undefined, tree.path("fresh"));
  tree.write({ "fresh/f.txt": "f\n", "fresh/f.log": "no\n", "vendor/made/m.txt": "no\n" });
  const { repositories } = await tree.snapshot();
  expect(repositories).toEqual(["fresh", "vendor"]);
  const files = ["fresh/f.txt", "vendor/.gitignore", "vendor/deep/inner/x.txt", "vendor/deep/w.txt", "vendor/v.txt"];
  expect((await tree.changes()).map(({ path }) => path)).toEqual(files);
  await expect(apply(home, tree)).resolves.toMatchObject({ ok: true });
  for (const file of files) expect(home.read(file)).toBe(tree.read(file));
  expect(existsSync(home.path("vendor/.git"))).toBe(false);
});

test("a submodule that an agent added is taken in with its files", async () => {
  const home = newRepository({ "a.txt": "1\n" });
  const other = newRepository({ "s.txt": "s\n" });
  const tree = await branchOff(home);
  tree.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.top, "sub");
  tree.git("commit", "--quiet", "-m", "a submodule");
  expect((await tree.changes()).map(({ path }) => path)).toEqual([".gitmodules", "sub/s.txt"]);
  await apply(home, tree);
  expect(home.read("sub/s.txt")).toBe("s\n");
});

test("nothing is written into a repository that the person has put into the tree since", async () => {
  const home = newRepository({ "a.txt": "1\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n", "vendor/b.txt": "b\n" });
  newRepository({ "own.txt": "own\n" }, home.path("vendor"));
  await expect(apply(home, tree)).rejects.toThrow("there are repositories of their own in the tree: vendor");
  expect(home.read("a.txt")).toBe("1\n");
});

test("a folder whose name git refuses is named, and all else is counted", async () => {
  const home = newRepository({ "a.txt": "1\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n", ".GIT/config": "x", "sub/.Git": "y", "git~1": "z" });
  await expect(tree.snapshot()).resolves.toMatchObject({ refused: [".GIT", "git~1", "sub/.Git"] });
  expect((await tree.changes()).map(({ path }) => path)).toEqual(["a.txt"]);
});

/** A sparse checkout with `in`, and without `out`. */
const sparse = (): Repository => {
  const home = newRepository({ "in/a.txt": "1\n", "out/b.txt": "1\n", "out/gone.txt": "1\n" });
  home.git("sparse-checkout", "set", "in");
  expect(existsSync(home.path("out"))).toBe(false);
  return home;
};

test("in a sparse checkout what an agent wrote outside of it is counted and applied, and the rest stays out", async () => {
  const home = sparse();
  const tree = await branchOff(home);
  expect(await tree.changes()).toEqual([]);
  tree.write({ "out/b.txt": "2\n", "out/new.txt": "n\n", "in/a.txt": "2\n" });
  expect((await tree.changes()).map(({ path }) => path)).toEqual(["in/a.txt", "out/b.txt", "out/new.txt"]);
  await expect(apply(home, tree)).resolves.toMatchObject({ ok: true });
  expect(home.read("in/a.txt") + home.read("out/b.txt") + home.read("out/new.txt")).toBe("2\n2\nn\n");
  expect(existsSync(home.path("out/gone.txt"))).toBe(false);
});

test("a change outside of a sparse checkout alone is a change", async () => {
  const tree = await branchOff(sparse());
  tree.write({ "out/b.txt": "2\n" });
  expect((await tree.changes()).map(({ path }) => path)).toEqual(["out/b.txt"]);
});

test("files that are marked as unchanged or as not there are read as they are", async () => {
  const home = newRepository({ "a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n" });
  const tree = await branchOff(home);
  tree.git("update-index", "--assume-unchanged", "a.txt");
  tree.git("update-index", "--skip-worktree", "b.txt");
  tree.write({ "a.txt": "2\n", "b.txt": "2\n" });
  expect((await tree.changes()).map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
  home.git("update-index", "--assume-unchanged", "c.txt");
  home.write({ "c.txt": "own\n" });
  await apply(home, tree);
  expect(home.read("a.txt") + home.read("b.txt") + home.read("c.txt")).toBe("2\n2\nown\n");
});

test("what a .gitignore of the agent's hides is named; what one of the project's hides, and what is a cache, is not", async () => {
  const home = newRepository({ "a.txt": "1\n", ".gitignore": "dist/\n" });
  const tree = await branchOff(home);
  tree.write({ "dist/out.js": "1", "notes/.gitignore": "*\n", "notes/n.txt": "n\n" });
  tree.write({ "cache/.gitignore": "*\n", "cache/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n" });
  expect(await tree.changes()).toEqual([]);
  const hidden = async (changed: ChangedFile[]) =>
    (await leftOutIn(tree.own, { refused: [], repositories: [] }, tree.base, changed)).map(({ path }) => path);
  await expect(hidden([])).resolves.toEqual(["notes/"]);
  tree.write({ ".gitignore": "dist/\nsecret.txt\n", "secret.txt": "s" });
  const changed = await tree.changes();
  await expect(hidden(changed)).resolves.toEqual(["dist/", "notes/", "secret.txt"]);
});

test("changes reach a linked worktree that is the person's directory", async () => {
  const main = newRepository({ "a.txt": "1\n" });
  const linked = join(temporaryFolder(), "linked");
  main.git("worktree", "add", "--quiet", "-b", "feature", linked);
  const home = repositoryAt(linked);
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n", "b.txt": "b\n" });
  await apply(home, tree);
  expect(home.read("a.txt") + home.read("b.txt") + main.read("a.txt")).toBe("2\nb\n1\n");
});

test("a file whose name is no text is refused by name, and nothing is changed", async () => {
  const home = newRepository({ "a.txt": "1\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "2\n" });
  writeFileSync(Buffer.concat([Buffer.from(`${tree.top}/x`), Buffer.from([0xff])]), "x");
  await expect(apply(home, tree)).rejects.toThrow(/names of files that are no UTF-8 text cannot be applied: "x/);
  expect(home.read("a.txt")).toBe("1\n");
});
