import { join } from "node:path";
import { expect, test } from "vitest";
import { createChangeCounts, LONGEST_WAIT_MS } from "../../../src/services/worktrees/change-counts.ts";
import type { Task } from "../../../src/task.ts";
import { newRepository, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";
import { AROUND } from "./worktrees-at-rest.ts";

/** A task that has ended and wrote a file in its worktree; counts begin when they are let. */
const begin = async () => {
  const project = newRepository({ "a.txt": "1\n" });
  const root = join(temporaryFolder(), "worktrees");
  const { tree, worktree } = await makeTaskWorktree(project, root);
  tree.write({ "b.txt": "b\n" });
  const task = { sessionID: "ses_1", parentSessionID: "ses_p", status: "completed", resumeCount: 0, worktree } as Task;
  const clock = createVirtualClock();
  const may = Promise.withResolvers<void>();
  const counts = createChangeCounts(
    { ...AROUND, root, clock, store: { get: () => ({ task }) as never, live: () => [] } },
    { run: async (_, work) => may.promise.then(work), idle: () => Promise.resolve() },
  );
  return { counts, clock, task, letCount: may.resolve };
};

test("a count is awaited for a minute, and counts when it is done later", async () => {
  const { counts, clock, task, letCount } = await begin();
  counts.expect(task);
  const awaited: string[] = [];
  void counts.untilCounted("ses_p")?.then(() => awaited.push("over"));
  expect(counts.untilCounted("ses_other")).toBeUndefined();
  await clock.advance(LONGEST_WAIT_MS - 1);
  expect(awaited).toEqual([]);
  expect(counts.isCounting(task)).toBe(true);
  await clock.advance(1);
  await settled();
  expect(awaited).toEqual(["over"]);
  expect(counts.isCounting(task)).toBe(false);
  expect(counts.untilCounted("ses_p")).toBeUndefined();
  expect(counts.changesOf(task)).toBeUndefined();
  letCount();
  expect(await counts.latestChanges(task)).toMatchObject({ files: [{ path: "b.txt", change: "added" }] });
});

test("who asks whether a task is being counted that nobody has begun to count begins it", async () => {
  const { counts, task, letCount } = await begin();
  expect(counts.isCounting({ ...task, status: "running" })).toBe(false);
  expect(counts.isCounting(task)).toBe(true);
  letCount();
  await counts.untilCounted("ses_p");
  expect(counts.isCounting(task)).toBe(false);
  expect(counts.changesOf(task)?.files).toHaveLength(1);
});
