import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isAlive } from "../../../../src/services/platform/process-identity.ts";
import { GitError, git, lineOf } from "../../../../src/services/worktrees/git/git.ts";
import { treeAt } from "../../../../src/services/worktrees/git/working-tree.ts";
import { newRepository, temporaryFolder } from "../../../fakes/repository.ts";

/** A repository in which a filter of that name runs a command, and a file that the command writes its process's number to. */
const withFilter = async (command: (pidFile: string) => string) => {
  const project = newRepository({ "a.txt": "1\n", ".gitattributes": "a.txt filter=own\n" });
  const pidFile = join(temporaryFolder(), "pid");
  project.git("config", "filter.own.clean", command(pidFile));
  const tree = await treeAt(project.top);
  return { tree, pid: () => Number(readFileSync(pidFile, "utf8")) };
};

const HASH = ["hash-object", "a.txt"];

test("a program that a filter leaves running, with git's own output for errors, keeps nobody waiting, and goes on running", async () => {
  const { tree, pid } = await withFilter((file) => `sleep 600 > /dev/null & echo $! > ${file}; tr 1 2`);
  const plain = lineOf(await git(tree, ["hash-object", "--no-filters", "a.txt"]));
  const answer = lineOf(await git(tree, HASH));
  expect(answer).toMatch(/^[0-9a-f]{40}$/);
  expect(answer).not.toBe(plain);
  expect(isAlive(pid())).toBe(true);
  process.kill(pid());
});

test("nor does one that goes on writing to it", async () => {
  const { tree, pid } = await withFilter(
    (file) => `(while :; do echo busy >&2; sleep 0.1; done) > /dev/null & echo $! > ${file}; tr 1 2`,
  );
  expect(lineOf(await git(tree, HASH))).toMatch(/^[0-9a-f]{40}$/);
  expect(isAlive(pid())).toBe(true);
  process.kill(pid());
});

test("git is stopped at its time limit with what it has started, and leaves no lock", async () => {
  const { tree, pid } = await withFilter((file) => `echo $$ > ${file}; exec sleep 600`);
  writeFileSync(join(tree.top, "a.txt"), "2\n");
  await expect(git(tree, ["add", "a.txt"], { timeLimitMs: 2_000 })).rejects.toThrow(
    new GitError("git add was stopped after 2 s"),
  );
  await expect.poll(() => isAlive(pid())).toBe(false);
  expect(existsSync(join(tree.gitDir, "index.lock"))).toBe(false);
});

test("what does not end then is ended by force", async () => {
  const { tree, pid } = await withFilter((file) => `echo $$ > ${file}; trap "" TERM; while :; do sleep 0.1; done`);
  await expect(git(tree, HASH, { timeLimitMs: 1_000 })).rejects.toThrow("git hash-object was stopped after 1 s");
  await expect.poll(() => isAlive(pid())).toBe(false);
});
