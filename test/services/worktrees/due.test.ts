import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lock } from "../../../src/services/worktrees/lock.ts";
import type { WorktreeRecord } from "../../../src/services/worktrees/record.ts";
import { whatIsDue } from "../../../src/services/worktrees/remove-worktree.ts";
import type { Task } from "../../../src/task.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { ENDED, know, type Left, RECORD } from "./known-worktrees.ts";

const NOW = 100_000_000;
const KEEP = 1_000;
const HOUR = 3_600_000;

const { taskId: _, ...WITHOUT_TASK } = RECORD;
const of = (at: number) => ({ run: 0, at, files: [] });
const endedAt = (at: number): Task => ({ ...ENDED, completedAt: new Date(at).toISOString() });
const startedAt = (at: number): Task => ({ ...ENDED, startedAt: new Date(at).toISOString() });
const running: Task = { ...ENDED, status: "running" };

const due = (root: string, task: Task | undefined) =>
  whatIsDue({ root, keep: KEEP, project: "/project", now: NOW }, "w1", (id) => (id === "ses_1" ? task : undefined));

test.each<[string, WorktreeRecord | undefined, Left, Task | undefined, ReturnType<typeof whatIsDue>]>([
  ["of which nothing is known", undefined, {}, undefined, undefined],
  ["of another project", { ...RECORD, project: "/other" }, {}, undefined, undefined],
  ["whose launch may go on", { ...WITHOUT_TASK, createdAt: NOW - HOUR }, {}, undefined, undefined],
  ["whose launch was cut off", { ...WITHOUT_TASK, createdAt: NOW - HOUR - 1 }, {}, undefined, "remove"],
  ["of a task that was lost, made just now", { ...RECORD, createdAt: NOW - KEEP }, {}, undefined, undefined],
  ["of a task that was lost, made long ago", { ...RECORD, createdAt: NOW - KEEP - 1 }, {}, undefined, "remove"],
  [
    "of a task that was lost, gone since just now",
    { ...RECORD, gone: { why: "expired", at: NOW - KEEP } },
    {},
    undefined,
    undefined,
  ],
  [
    "of a task that was lost, gone for long",
    { ...RECORD, gone: { why: "expired", at: NOW - KEEP - 1 } },
    {},
    undefined,
    "remove",
  ],
  ["of a task that was lost, counted just now", RECORD, { changes: of(NOW - KEEP) }, undefined, undefined],
  ["of a task that was lost, counted long ago", RECORD, { changes: of(NOW - KEEP - 1) }, undefined, "remove"],
  ["of a task that runs", { ...RECORD, gone: { why: "expired", at: 0 } }, {}, running, undefined],
  ["that is not there any more", RECORD, { hasTree: false }, endedAt(0), undefined],
  ["whose task ended just now", RECORD, {}, endedAt(NOW - KEEP), undefined],
  ["whose task ended long ago", RECORD, {}, endedAt(NOW - KEEP - 1), "expire"],
  ["whose task has no time of its end, and began just now", RECORD, {}, startedAt(NOW - KEEP), undefined],
  ["whose task has no time of its end, and began long ago", RECORD, {}, startedAt(NOW - KEEP - 1), "expire"],
  ["whose removal was cut off", { ...RECORD, gone: { why: "discarded", at: NOW } }, {}, endedAt(NOW), "expire"],
])("for a worktree %s the right thing is due, or nothing", (_name, record, left, task, expected) => {
  const root = temporaryFolder();
  know(root, record, left);
  expect(due(root, task)).toBe(expected);
});

test("where applying was cut off, that comes first, once nobody is at it", () => {
  const root = temporaryFolder();
  const paths = know(root, RECORD);
  writeFileSync(paths.applying, "{}");
  const release = lock(paths, NOW);
  expect(due(root, endedAt(0))).toBeUndefined();
  release?.();
  expect(due(root, running)).toBe("recover");
});
