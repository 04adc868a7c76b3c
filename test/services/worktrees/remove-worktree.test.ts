import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isLocked, lock, whileLocked } from "../../../src/services/worktrees/lock.ts";
import { readRecord, writeRecord } from "../../../src/services/worktrees/record.ts";
import { dropTree, removeAll } from "../../../src/services/worktrees/remove-worktree.ts";
import { newRepository, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";
import { AROUND } from "./worktrees-at-rest.ts";

const begin = async () => {
  const project = newRepository({ "a.txt": "1\n" });
  const root = join(temporaryFolder(), "worktrees");
  const { paths, record } = await makeTaskWorktree(project, root);
  return { paths, record, context: { root, ...AROUND } };
};

test("a worktree that another process uses is not removed, nor is anything of it", async () => {
  const { paths, record, context } = await begin();
  const release = lock(paths, Date.now());
  const inUse = "its changes are being applied or discarded";
  await expect(dropTree(context, "w1", record, { why: "expired", at: 1 })).rejects.toThrow(inUse);
  await expect(removeAll(context, "w1")).rejects.toThrow(inUse);
  await expect(whileLocked(context, "w1", async () => "done")).rejects.toThrow(inUse);
  expect(existsSync(paths.tree)).toBe(true);
  expect(readRecord(paths)?.gone).toBeUndefined();
  release?.();
  await dropTree(context, "w1", record, { why: "expired", at: 1 });
  expect(existsSync(paths.tree)).toBe(false);
  expect(isLocked(paths, Date.now())).toBe(false);
});

test("one whose changes a person has had applied since it was looked at is left as it is", async () => {
  const { paths, record, context } = await begin();
  writeRecord(paths, { ...record, gone: { why: "applied", at: 1 } });
  await expect(dropTree(context, "w1", record, { why: "expired", at: 2 })).rejects.toThrow(
    "has changed in the meantime",
  );
  expect(readRecord(paths)?.gone).toEqual({ why: "applied", at: 1 });
});

test("removing one of which nothing is there does nothing", async () => {
  const { paths, context } = await begin();
  await removeAll(context, "w1");
  await removeAll(context, "w1");
  expect(existsSync(paths.folder)).toBe(false);
});
