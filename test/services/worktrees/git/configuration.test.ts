import { chmodSync, existsSync, lstatSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writePatch } from "../../../../src/services/worktrees/git/commit.ts";
import { withObjects } from "../../../../src/services/worktrees/git/working-tree.ts";
import { newRepository, type Repository, repositoryAt, temporaryFolder } from "../../../fakes/repository.ts";
import { apply, branchOff } from "./branch-off.ts";

const FILES = {
  "lib/a.txt": "one\ntwo\n",
  "x/lib/a.txt": "one\ntwo\n",
  "gone.txt": "1\n",
  "run.sh": "#!/bin/sh\n",
  "spaces.txt": "a \nb\t\nc\n",
  "moved.txt": "a\nb\nc\nd\ne\n",
  ".gitattributes": "*.txt -diff merge=mine\n*.md diff=mine filter=mine text=auto\n",
};

/** Sets variables of the environment. Returns what sets them back, which happens at the test's end at the latest. */
const setEnvironment = (variables: Record<string, string>): (() => void) => {
  const before = { ...process.env };
  const restore = () => {
    for (const name of Object.keys(variables)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  };
  Object.assign(process.env, variables);
  onTestFinished(restore);
  return restore;
};

/** Settings that change what git prints, finds or does, and programs that it would run, each of which leaves a mark. */
const settingsOf = (folder: string): [name: string, value: string][] => {
  const program = join(folder, "program");
  writeFileSync(program, `#!/bin/sh\ntouch ${folder}/ran\ncat\n`, { mode: 0o755 });
  for (const name of ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"])
    writeFileSync(join(folder, name), `#!/bin/sh\ntouch ${folder}/ran\n`, { mode: 0o755 });
  writeFileSync(join(folder, "attributes"), "* -diff\n*.txt binary merge=mine\n*.bin diff=mine\n");
  return [
    ["core.hooksPath", folder],
    ["core.fsmonitor", program],
    ["core.pager", program],
    ["core.attributesFile", join(folder, "attributes")],
    ["diff.external", program],
    ["diff.mine.textconv", program],
    ["diff.mine.command", program],
    ["merge.mine.driver", program],
    ["gpg.program", program],
    ["commit.gpgSign", "true"],
    ["diff.noprefix", "true"],
    ["diff.mnemonicPrefix", "true"],
    ["diff.relative", "true"],
    ["diff.renames", "copies"],
    ["diff.context", "0"],
    ["diff.algorithm", "patience"],
    ["diff.ignoreSubmodules", "all"],
    ["diff.submodule", "log"],
    ["color.ui", "always"],
    ["color.diff", "always"],
    ["column.ui", "always"],
    ["core.quotePath", "false"],
    ["core.abbrev", "4"],
    ["core.ignoreStat", "true"],
    ["core.ignoreCase", "true"],
    ["core.fileMode", "false"],
    ["core.trustctime", "false"],
    ["core.checkStat", "minimal"],
    ["core.untrackedCache", "true"],
    ["core.splitIndex", "true"],
    ["core.bigFileThreshold", "1"],
    ["feature.manyFiles", "true"],
    ["add.ignoreErrors", "true"],
    ["apply.whitespace", "fix"],
    ["apply.ignoreWhitespace", "change"],
    ["merge.renames", "false"],
    ["merge.directoryRenames", "true"],
    ["merge.conflictStyle", "diff3"],
    ["i18n.commitEncoding", "latin1"],
    ["user.useConfigOnly", "true"],
    ["log.showSignature", "true"],
    ["status.relativePaths", "true"],
    ["submodule.recurse", "true"],
    ["worktree.guessRemote", "true"],
  ];
};

const work = (tree: Repository) => {
  tree.write({
    "x/lib/a.txt": "one\n2\n",
    "x/new.txt": "new \n",
    "spaces.txt": "a \nB \nc\n",
    "names/A.md": "upper\n",
    "names/a.md": "lower\n",
    '-q "ä"\n.txt': "odd\n",
  });
  rmSync(tree.path("gone.txt"));
  rmSync(tree.path("moved.txt"));
  tree.write({ "y/moved.txt": FILES["moved.txt"] });
  chmodSync(tree.path("run.sh"), 0o755);
  symlinkSync("x/lib", tree.path("link"));
  writeFileSync(tree.path("b.bin"), Buffer.from([0, 255, 13, 10]));
};

const COUNTED = [
  { path: '-q "ä"\n.txt', change: "added", added: 1, removed: 0 },
  { path: "b.bin", change: "added" },
  { path: "gone.txt", change: "deleted", added: 0, removed: 1 },
  { path: "link", change: "added", added: 1, removed: 0 },
  { path: "moved.txt", change: "deleted", added: 0, removed: 5 },
  { path: "names/A.md", change: "added", added: 1, removed: 0 },
  { path: "names/a.md", change: "added", added: 1, removed: 0 },
  { path: "run.sh", change: "modified", added: 0, removed: 0 },
  { path: "spaces.txt", change: "modified", added: 1, removed: 1 },
  { path: "x/lib/a.txt", change: "modified", added: 1, removed: 1 },
  { path: "x/new.txt", change: "added", added: 1, removed: 0 },
  { path: "y/moved.txt", change: "added", added: 5, removed: 0 },
];

/** Counts and applies, and expects all of it and nothing else. */
const expectAllOf = async (home: Repository, mark: string, unset: () => void) => {
  const tree = await branchOff(home);
  work(tree);
  expect(await tree.changes()).toEqual(COUNTED);
  const patch = join(temporaryFolder(), "patch");
  const end = await tree.end();
  await withObjects(tree.own, (objects) => writePatch(objects, tree.base, end, patch));
  await expect(apply(home, tree)).resolves.toEqual({ ok: true, files: COUNTED });
  const files = (of: Repository) =>
    COUNTED.flatMap(({ path, change }) => (change === "deleted" || path === "link" ? [] : of.read(path)));
  expect(files(home)).toEqual(files(tree));
  expect(home.read("lib/a.txt")).toBe(FILES["lib/a.txt"]);
  expect(existsSync(home.path("new.txt")) || existsSync(home.path("gone.txt"))).toBe(false);
  expect(lstatSync(home.path("run.sh")).mode & 0o100).not.toBe(0);
  expect(readlinkSync(home.path("link"))).toBe("x/lib");
  expect(existsSync(mark)).toBe(false);
  // The patch is one that git takes where nothing is configured.
  unset();
  const other = newRepository(FILES);
  other.git("apply", "--whitespace=nowarn", patch);
  expect(files(other)).toEqual(files(tree));
};

test("a person's configuration changes nothing of what is counted, kept as a patch and applied, and runs nothing", async () => {
  const folder = temporaryFolder();
  const home = newRepository(FILES);
  const file = join(folder, "gitconfig");
  for (const [name, value] of settingsOf(folder)) home.git("config", "--file", file, name, value);
  const unset = setEnvironment({ GIT_CONFIG_GLOBAL: file });
  await expectAllOf(home, join(folder, "ran"), unset);
});

test("neither does the configuration of the repository, with its own attributes", async () => {
  const folder = temporaryFolder();
  const home = newRepository(FILES);
  home.write({ ".git/info/attributes": "* -diff\n*.txt binary merge=mine\n" });
  for (const [name, value] of settingsOf(folder)) home.git("config", name, value);
  await expectAllOf(home, join(folder, "ran"), () => undefined);
});

test("neither do variables of the environment", async () => {
  const folder = temporaryFolder();
  const program = join(folder, "program");
  const settings = settingsOf(folder);
  const pairs = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  const home = newRepository(FILES);
  // Found by a relative path where git works in the tree.
  home.write({ git: `#!/bin/sh\ntouch ${folder}/ran\n` });
  chmodSync(home.path("git"), 0o755);
  home.commit();
  const unset = setEnvironment({
    ...Object.fromEntries(pairs),
    GIT_CONFIG_COUNT: String(settings.length),
    GIT_CONFIG_PARAMETERS: "'diff.noprefix'='true'",
    GIT_EXTERNAL_DIFF: program,
    GIT_PAGER: program,
    GIT_EDITOR: program,
    GIT_DIFF_OPTS: "--unified=0",
    GIT_INDEX_FILE: join(folder, "index"),
    GIT_DIR: folder,
    GIT_WORK_TREE: folder,
    GIT_OBJECT_DIRECTORY: folder,
    GIT_LITERAL_PATHSPECS: "1",
    GIT_ICASE_PATHSPECS: "1",
    GIT_TRACE: join(folder, "trace"),
    GIT_ATTR_SOURCE: "HEAD",
    GIT_EXEC_PATH: folder,
    PATH: `.:node_modules/.bin:${process.env.PATH}`,
  });
  await expectAllOf(home, join(folder, "ran"), unset);
});

test("lines of a file are not merged where its attributes forbid it: that is a conflict", async () => {
  const home = newRepository({ "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n", ".gitattributes": "*.txt merge=union\n" });
  const tree = await branchOff(home);
  tree.write({ "a.txt": "one\n2\n3\n4\n5\n6\n7\n8\n" });
  home.write({ "a.txt": "1\n2\n3\n4\n5\n6\n7\neight\n" });
  await expect(apply(home, tree)).resolves.toEqual({
    ok: false,
    conflicts: [{ path: "a.txt", kind: "attribute merge" }],
  });
  expect(repositoryAt(home.top).read("a.txt")).toBe("1\n2\n3\n4\n5\n6\n7\neight\n");
});
