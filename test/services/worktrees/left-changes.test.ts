import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pathsOf } from "../../../src/services/worktrees/folders.ts";
import {
  applyLeftChanges,
  discardLeftChanges,
  findLeftWorktree,
  NotDone,
} from "../../../src/services/worktrees/left-changes.ts";
import { makeWorktree } from "../../../src/services/worktrees/make-worktree.ts";
import { isInUse, readRecord, writeRecord } from "../../../src/services/worktrees/record.ts";
import { newRepository, repositoryAt, temporaryFolder } from "../../fakes/repository.ts";

/** A task that has ended, and wrote a file in its worktree. */
const begin = async () => {
  const project = newRepository({ "a.txt": "1\n" });
  const root = join(temporaryFolder(), "worktrees");
  const paths = pathsOf(root, "w1");
  await makeWorktree({
    ...{ paths, directory: project.top, home: project.top, taskId: "ses_1", setup: undefined, now: 0 },
    signal: new AbortController().signal,
  });
  repositoryAt(paths.tree).write({ "a.txt": "2\n" });
  const worktree = { id: "w1", directory: paths.tree, isShared: false };
  const task = {
    sessionID: "ses_1",
    description: "write",
    directory: project.top,
    worktree,
    status: "completed",
  } as const;
  return { project, paths, left: findLeftWorktree(root, task, String) };
};

const AT_REST = { isAtWork: async () => false, now: Date.now };

test("while changes are applied, no resume may begin; afterwards the worktree is gone", async () => {
  const { project, paths, left } = await begin();
  const seen: boolean[] = [];
  const isAtWork = async () => {
    seen.push(isInUse(readRecord(paths), Date.now()));
    return false;
  };
  await applyLeftChanges(left, project.top, { ...AT_REST, isAtWork });
  expect(seen).toEqual([true, true]);
  expect(project.read("a.txt")).toBe("2\n");
  expect(existsSync(paths.tree)).toBe(false);
  expect(readRecord(paths)).toMatchObject({ gone: { why: "applied" } });
  expect(isInUse(readRecord(paths), Date.now())).toBe(false);
});

test("a task that was resumed just before is left alone, with all that it has", async () => {
  const { project, paths, left } = await begin();
  const asked = applyLeftChanges(left, project.top, { ...AT_REST, isAtWork: async () => true });
  await expect(asked).rejects.toThrow(
    new NotDone('An agent works in the worktree of task ses_1 "write". Wait for its end, or cancel it.'),
  );
  expect(project.read("a.txt")).toBe("1\n");
  expect(existsSync(paths.tree)).toBe(true);
  expect(isInUse(readRecord(paths), Date.now())).toBe(false);
});

test("one whose run begins meanwhile keeps its worktree", async () => {
  const { project, paths, left } = await begin();
  let asked = 0;
  const isAtWork = async () => {
    asked += 1;
    return asked > 1;
  };
  await applyLeftChanges(left, project.top, { ...AT_REST, isAtWork });
  expect(project.read("a.txt")).toBe("2\n");
  expect(existsSync(paths.tree)).toBe(true);
  expect(isInUse(readRecord(paths), Date.now())).toBe(false);
});

test("where nobody can say whether a run has begun meanwhile, what was applied counts, and the worktree stays", async () => {
  const { project, paths, left } = await begin();
  let asked = 0;
  const isAtWork = async () => {
    asked += 1;
    if (asked > 1) throw new Error("OpenCode has not answered in time");
    return false;
  };
  const settled = await applyLeftChanges(left, project.top, { ...AT_REST, isAtWork });
  expect(settled).toMatchObject({ files: [{ path: "a.txt" }], stays: "an agent works in it again" });
  expect(existsSync(paths.tree)).toBe(true);
});

test("what somebody else has applied since it was looked at is not discarded, and stays applied", async () => {
  const { project, paths, left } = await begin();
  await applyLeftChanges(left, project.top, AT_REST);
  await expect(discardLeftChanges(left, AT_REST)).rejects.toThrow("has changed in the meantime");
  expect(readRecord(paths)).toMatchObject({ gone: { why: "applied" } });
});

test("two at once: the second is refused, and changes nothing", async () => {
  const { project, left } = await begin();
  const first = applyLeftChanges(left, project.top, AT_REST);
  await expect(discardLeftChanges(left, AT_REST)).rejects.toThrow("are being applied or discarded already");
  await first;
  expect(project.read("a.txt")).toBe("2\n");
});

test("a mark that a process left which has ended, or that is very old, holds nothing up", async () => {
  const { paths, left } = await begin();
  const now = Date.now();
  writeRecord(paths, { ...left.record, inUse: { pid: 2 ** 22 + 1, at: now } });
  expect(isInUse(readRecord(paths), now)).toBe(false);
  writeRecord(paths, { ...left.record, inUse: { pid: process.pid, at: now - 3_600_000 } });
  expect(isInUse(readRecord(paths), now)).toBe(false);
  await discardLeftChanges(left, AT_REST);
  expect(existsSync(paths.tree)).toBe(false);
  expect(existsSync(paths.patch)).toBe(true);
});

test("conflicts are named, nothing is changed, and the worktree stays", async () => {
  const { project, paths, left } = await begin();
  project.write({ "a.txt": "3\n" });
  const asked = applyLeftChanges(left, project.top, AT_REST);
  await expect(asked).rejects.toMatchObject({ conflicts: [{ path: "a.txt", kind: "content" }] });
  expect(project.read("a.txt")).toBe("3\n");
  expect(existsSync(paths.tree)).toBe(true);
  expect(isInUse(readRecord(paths), Date.now())).toBe(false);
});
