import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { GitError, git, gitAt, gitOnObjects, items, lineOf } from "../../../../src/services/worktrees/git/git.ts";
import { treeAt, withObjects } from "../../../../src/services/worktrees/git/working-tree.ts";
import { newRepository, temporaryFolder } from "../../../fakes/repository.ts";

afterEach(() => vi.unstubAllEnvs());

/** Has `git say` run a shell command, by the configuration of the environment. */
const say = (command: string) => {
  vi.stubEnv("GIT_CONFIG_COUNT", "1");
  vi.stubEnv("GIT_CONFIG_KEY_0", "alias.say");
  vi.stubEnv("GIT_CONFIG_VALUE_0", `!${command}`);
};

test.each([
  ["what is wrong, without warnings and hints", "warning: w\\nfatal: a\\nhint: h\\nerror: b\\n", "a; b"],
  ["the first three of many", "error: 1\\nerror: 2\\nerror: 3\\nerror: 4\\nerror: 5\\n", "1; 2; 3; and 2 more"],
  ["the last line where none says what is wrong", "not a fatal: x\\nlast words\\n\\n", "last words"],
  ["that it says nothing", "\\n", "it gave no reason"],
  ["500 characters of it", "x".repeat(600), "x".repeat(500)],
])("the error of git says %s", async (_, words, sentence) => {
  say(`printf '${words}' >&2; exit 3`);
  const error = await gitAt(temporaryFolder(), ["say"]).catch((error) => error);
  expect(error).toEqual(new GitError(sentence, 3));
  expect(error.code).toBe(3);
});

test("a git that somebody stops answers nothing", async () => {
  say("kill -KILL $PPID");
  const error = await gitAt(temporaryFolder(), ["say"]).catch((error) => error);
  expect(error).toEqual(new GitError("git say was stopped by SIGKILL"));
  expect(error.code).toBeUndefined();
});

test("some codes are answers, where that is said", async () => {
  const tree = await treeAt(newRepository({ "a.txt": "1\n" }).top);
  const asked = ["rev-parse", "--verify", "--quiet", "nothing"];
  expect(await git(tree, asked, { answers: [1] })).toEqual({ code: 1, stdout: Buffer.from("") });
  await expect(git(tree, asked)).rejects.toThrow("it gave no reason");
  await expect(git(tree, asked, { answers: [2] })).rejects.toThrow("it gave no reason");
});

test("git reads the items that it is given, and writes into an open file", async () => {
  const project = newRepository({ "a.txt": "1\n", ".gitattributes": "*.ä merge=union\n" });
  const tree = await treeAt(project.top);
  const input = ["a.txt", Buffer.from("b.ä").toString("latin1")];
  const answer = await git(tree, ["check-attr", "-z", "--stdin", "merge"], { input });
  expect(items(answer)).toEqual(["a.txt", "merge", "unspecified", "b.ä", "merge", "union"]);
  const file = join(temporaryFolder(), "out");
  const output = openSync(file, "w");
  expect((await git(tree, ["cat-file", "blob", "HEAD:a.txt"], { output })).stdout).toHaveLength(0);
  closeSync(output);
  expect(readFileSync(file, "utf8")).toBe("1\n");
  const from = openSync(file, "r");
  const hashed = lineOf(await git(tree, ["hash-object", "--stdin"], { input: from }));
  closeSync(from);
  expect(hashed).toBe(project.git("rev-parse", "HEAD:a.txt").trim());
});

test("where objects alone are asked about, nobody's configuration is read", async () => {
  const project = newRepository({ "a.txt": "1\n" });
  const tree = await treeAt(project.top);
  say("echo said");
  expect(lineOf(await gitAt(project.top, ["say"]))).toBe("said");
  expect(lineOf(await git(tree, ["say"]))).toBe("said");
  const commit = project.git("rev-parse", "HEAD").trim();
  await withObjects(tree, async (objects) => {
    expect(await gitOnObjects(objects, ["config", "alias.say"], { answers: [1] })).toMatchObject({ code: 1 });
    expect(lineOf(await gitOnObjects(objects, ["cat-file", "-t", commit]))).toBe("commit");
    expect(lineOf(await gitOnObjects(objects, ["config", "core.attributesFile"]))).toBe("/dev/null");
  });
});

test("what we commit names us, whoever the environment names", async () => {
  vi.stubEnv("GIT_AUTHOR_NAME", "Ada");
  vi.stubEnv("GIT_COMMITTER_EMAIL", "ada@example.org");
  const us = /^opencode-taskchart <opencode-taskchart@localhost> /;
  const folder = temporaryFolder();
  expect(lineOf(await gitAt(folder, ["var", "GIT_AUTHOR_IDENT"]))).toMatch(us);
  expect(lineOf(await gitAt(folder, ["var", "GIT_COMMITTER_IDENT"]))).toMatch(us);
});
