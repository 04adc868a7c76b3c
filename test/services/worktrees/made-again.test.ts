/** @module-tag nightly */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  applyLeftChanges,
  discardLeftChanges,
  findLeftWorktree,
  readLeftChanges,
} from "../../../src/services/worktrees/left-changes.ts";
import { readRecord, writeRecord } from "../../../src/services/worktrees/record.ts";
import { newRepository, temporaryFolder } from "../../fakes/repository.ts";
import { AT_REST, signal, worktreeOfTask } from "./worktrees-at-rest.ts";

const CHILD = new URL("prepare-child.ts", import.meta.url).pathname;

/** A task that has ended, and whose changes were counted. */
const begin = async () => {
  const begun = await worktreeOfTask(newRepository({ "a.txt": "1\n" }), join(temporaryFolder(), "worktrees"));
  begun.tree.write({ "a.txt": "2\n" });
  await begun.worktrees.countAgain(begun.task);
  return begun;
};

type Begun = Awaited<ReturnType<typeof begin>>;

/** Makes it again in a process that is killed while it prepares the worktree. */
const cutOff = ({ root, task }: Begun) => {
  const ended = spawnSync(process.execPath, [CHILD, JSON.stringify({ root, task })], { encoding: "utf8" });
  expect(ended).toMatchObject({ signal: "SIGKILL" });
};

test("the changes of an expired worktree outlast a process that is killed while it makes the worktree again", async () => {
  const begun = await begin();
  const { root, paths, tree, worktrees, task, left } = begun;
  await worktrees.expire("w1");
  expect(existsSync(paths.tree)).toBe(false);
  const patch = readFileSync(paths.patch, "utf8");
  cutOff(begun);
  expect(existsSync(paths.tree)).toBe(true);

  // Whoever looks finds the changes that were counted, not those of what is half made.
  await expect((async () => readLeftChanges(left(), Date.now))()).rejects.toThrow("Its patch is still in");
  const toDiscard = await readLeftChanges(findLeftWorktree(root, task, String, "discard"), Date.now);
  await worktrees.countAgain(task);
  expect(worktrees.undecidedChanges(task)?.files).toHaveLength(1);
  expect(readFileSync(paths.patch, "utf8")).toBe(patch);

  expect(await worktrees.prepare(task, signal)).toEqual({ ok: true, value: undefined });
  expect(tree.read("a.txt")).toBe("2\n");
  expect((await readLeftChanges(left(), Date.now)).files).toEqual(toDiscard.files);
});

test.each([
  ["applied", "before there is a folder", true],
  ["applied", "while it prepares the folder", false],
  ["discarded", "before there is a folder", true],
  ["discarded", "while it prepares the folder", false],
] as const)("%s changes do not come back when a process is killed %s", async (became, _, isWithoutFolder) => {
  const begun = await begin();
  const { project, paths, tree, worktrees, task, left } = begun;
  if (became === "applied") await applyLeftChanges(left(), project.top, AT_REST);
  else await discardLeftChanges(left(), AT_REST);
  project.write({ "a.txt": "of the person\n" });
  cutOff(begun);
  if (isWithoutFolder) rmSync(paths.tree, { recursive: true });
  expect(await worktrees.prepare(task, signal)).toEqual({ ok: true, value: undefined });
  expect(tree.read("a.txt")).toBe("of the person\n");
  expect((await readLeftChanges(left(), Date.now)).files).toEqual([]);
});

test("what is left of a worktree whose removal was cut off is no change, and the next sweep removes it", async () => {
  const { project, root, paths, worktrees, task } = await begin();
  const patch = readFileSync(paths.patch, "utf8");
  const record = readRecord(paths);
  if (!record) throw new Error("nothing is known of the worktree");
  writeRecord(paths, { ...record, gone: { why: "expired", at: 1 } });
  rmSync(join(paths.tree, "a.txt"));
  const use = findLeftWorktree(root, task, String, "discard");
  expect((await readLeftChanges(use, Date.now)).files).toMatchObject([{ path: "a.txt", change: "modified" }]);

  await Promise.all(worktrees.sweep(project.top, () => task));
  expect(existsSync(paths.tree)).toBe(false);
  expect(readRecord(paths)).toMatchObject({ gone: { why: "expired", at: 1 } });
  expect(readFileSync(paths.patch, "utf8")).toBe(patch);
  expect(await discardLeftChanges(use, AT_REST)).toMatchObject({ files: [{ change: "modified" }], stays: undefined });
  expect(readFileSync(paths.patch, "utf8")).toBe(patch);
});
