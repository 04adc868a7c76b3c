import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createChangeCounts } from "../../../src/services/worktrees/change-counts.ts";
import { readRecord, type WorktreeRecord } from "../../../src/services/worktrees/record.ts";
import type { Task, WorktreeChanges } from "../../../src/task.ts";
import { newRepository, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";
import { ENDED, know, type Left, RECORD } from "./known-worktrees.ts";
import { AROUND } from "./worktrees-at-rest.ts";

const RUNNING: Task = { ...ENDED, status: "running" };
const WITHOUT = { ...ENDED, worktree: undefined } as unknown as Task;
const BELOW: Task = { ...ENDED, sessionID: "ses_2", worktree: { id: "w1", directory: "/d", isShared: true } };
const { taskId: _, ...NOBODYS } = RECORD;
const COUNTED: WorktreeChanges = { run: 0, at: 1, files: [] };

/** The counting of changes in a worktree that has no folder, so that each count fails; with the ids of what was counted. */
const begin = (
  tasks: readonly Task[] = [ENDED],
  record: WorktreeRecord = RECORD,
  left: Left = {},
  until: (count: number) => Promise<void> | undefined = () => undefined,
) => {
  const root = temporaryFolder();
  const paths = know(root, record, { hasTree: false, ...left });
  const clock = createVirtualClock(7);
  const counted: string[] = [];
  const errors: unknown[] = [];
  const counts = createChangeCounts(
    {
      ...{ ...AROUND, root, clock, log: { info: () => undefined, error: (...line) => void errors.push(line) } },
      store: {
        get: (id) => tasks.filter(({ sessionID }) => sessionID === id).map((task) => ({ task }) as never)[0],
        live: () => [],
      },
    },
    {
      run: async (id, work) => {
        counted.push(id);
        await until(counted.length);
        return work();
      },
      idle: () => Promise.resolve(),
    },
  );
  return { counts, counted, errors, clock, paths };
};

describe("when a run of a task ends, changes are", () => {
  test.each<[string, Task, Task[], Task[], WorktreeRecord, string[]]>([
    ["counted", ENDED, [ENDED], [ENDED], RECORD, ["w1"]],
    ["counted, where the worktree is not known as that of a task", ENDED, [ENDED], [ENDED], NOBODYS, ["w1"]],
    ["not counted, where that was done", ENDED, [], [ENDED], RECORD, []],
    ["not counted, where the task goes on", RUNNING, [RUNNING], [RUNNING], RECORD, []],
    ["not counted, where it has no worktree", WITHOUT, [WITHOUT], [WITHOUT], RECORD, []],
    ["counted as those of the task above that ended", BELOW, [], [ENDED, BELOW], RECORD, ["w1"]],
    ["not counted before the task above ends", BELOW, [BELOW], [RUNNING, BELOW], RECORD, []],
    ["not counted, where the task above is gone", BELOW, [], [BELOW], RECORD, []],
  ])("%s", (_name, task, expected, tasks, record, ids) => {
    const { counts, counted } = begin(tasks, record);
    for (const one of expected) counts.expect(one);
    counts.onRunEnded(task);
    expect(counted).toEqual(ids);
    counts.onRunEnded(task);
    expect(counted).toEqual(task === BELOW ? [...ids, ...ids] : ids);
  });
});

describe("what cannot be counted, for the worktree", () => {
  const { base: _base, ...halfMade } = RECORD;

  test("is of a repository that is gone, is written down and logged", async () => {
    const { counts, errors } = begin([ENDED], RECORD, { hasTree: true });
    const reason = expect.stringMatching(/^git could not be started: .*ENOENT/);
    expect(await counts.countAgain(ENDED)).toEqual({ run: 0, at: 7, files: [], problem: reason });
    expect(errors).toEqual([["what a task changed could not be counted", { id: "w1", reason }]]);
  });

  test.each<[string, WorktreeRecord, Left, Partial<WorktreeChanges>]>([
    ["has no folder", RECORD, {}, {}],
    ["was never whole", halfMade, { hasTree: true }, {}],
    ["is gone", { ...RECORD, gone: { why: "expired", at: 1 } }, { hasTree: true }, { became: "expired" }],
  ])("%s, is said and logged, until the task goes on", async (_name, record, left, more) => {
    const { counts, errors, paths } = begin([ENDED], record, left);
    const problem = `there is no ${paths.tree} any more`;
    const run = { ...ENDED, resumeCount: 2 };
    expect(await counts.countAgain(run)).toEqual({ run: 2, at: 7, files: [], problem, ...more });
    expect(errors).toEqual([["a worktree could not be looked through", { id: "w1", reason: problem }]]);
    expect(counts.changesOf({ ...run, resumeCount: 3 })).toBeUndefined();
    counts.expect(run);
    expect(counts.changesOf(run)).toBeUndefined();
  });

  test("has been counted before, is what was counted then", async () => {
    const { counts, errors } = begin([ENDED], RECORD, { changes: COUNTED });
    expect(await counts.countAgain(ENDED)).toEqual(COUNTED);
    expect(errors).toEqual([]);
  });
});

test.each<[WorktreeRecord["gone"], Partial<WorktreeChanges>]>([
  [undefined, {}],
  [{ why: "clean", at: 1 }, {}],
  [{ why: "applied", at: 1 }, { became: "applied" }],
  [{ why: "discarded", at: 1 }, { became: "discarded" }],
  [{ why: "sent", at: 1 }, { became: "sent" }],
])("changes of a worktree that is gone %j say what became of them", (gone, more) => {
  const { counts } = begin([ENDED], { ...RECORD, ...(gone && { gone }) }, { changes: COUNTED });
  expect(counts.changesOf(ENDED)).toStrictEqual({ ...COUNTED, ...more });
  expect(counts.changesOf({ ...ENDED, resumeCount: 1 })).toBeUndefined();
  expect(counts.changesOf(BELOW)).toBeUndefined();
});

test("who asks for the latest changes has them counted where that was not done, of a task that has ended", async () => {
  const done = begin([ENDED], RECORD, { changes: COUNTED });
  expect(await done.counts.latestChanges(ENDED)).toEqual(COUNTED);
  expect(await done.counts.latestChanges(RUNNING)).toBeUndefined();
  expect(done.counted).toEqual([]);
  const { counts, counted } = begin();
  for (const task of [RUNNING, WITHOUT, BELOW]) {
    expect(await counts.latestChanges(task)).toBeUndefined();
    expect(await counts.countAgain(task)).toBeUndefined();
    expect(counts.isCounting(task)).toBe(false);
  }
  expect(counted).toEqual([]);
  expect(await counts.latestChanges(ENDED)).toMatchObject({ problem: expect.any(String) });
  expect(counted).toEqual(["w1"]);
});

test("who asks whether a task is being counted begins it once, and not where it is counted", async () => {
  const { counts, counted } = begin();
  expect([counts.isCounting(ENDED), counts.isCounting(ENDED)]).toEqual([true, true]);
  expect(counted).toEqual(["w1"]);
  await settled();
  expect(counts.isCounting(ENDED)).toBe(false);
  expect(counted).toEqual(["w1"]);
});

test("a notice waits for what its own tasks left, and no longer than for that", async () => {
  const { counts, counted, clock } = begin();
  expect(counts.untilCounted("ses_p")).toBeUndefined();
  counts.expect(ENDED);
  expect(counts.untilCounted("ses_other")).toBeUndefined();
  expect(counted).toEqual([]);
  const waiting = counts.untilCounted("ses_p");
  expect([counted, clock.pending()]).toEqual([["w1"], 1]);
  await waiting;
  expect(clock.pending()).toBe(0);
  expect(counts.untilCounted("ses_p")).toBeUndefined();
});

test.each<[string, Task, Task[]]>([
  ["goes on", RUNNING, [RUNNING]],
  ["is gone", ENDED, []],
  ["shares a worktree", BELOW, [BELOW]],
])("a notice does not wait for a task that %s", (_name, task, tasks) => {
  const { counts, counted } = begin(tasks);
  counts.expect(task);
  expect(counts.untilCounted("ses_p")).toBeUndefined();
  expect(counted).toEqual([]);
});

test("where a task is counted again meanwhile, the later count is waited for", async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { counts } = begin([ENDED], RECORD, {}, (count) => (count === 1 ? first : second).promise);
  const counting = [counts.countAgain(ENDED), counts.countAgain(ENDED)];
  first.resolve();
  await counting[0];
  expect(counts.untilCounted("ses_p")).toBeDefined();
  second.resolve();
  await counting[1];
  expect(counts.untilCounted("ses_p")).toBeUndefined();
});

test("a count that ends after a later one takes nothing away from it", async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { counts } = begin([ENDED], RECORD, {}, (count) => (count === 1 ? first : second).promise);
  const counting = [counts.countAgain(ENDED), counts.countAgain(ENDED)];
  second.resolve();
  await counting[1];
  first.resolve();
  expect(await counting[0]).toMatchObject({ problem: expect.any(String) });
});

test("a worktree of which nothing is known has nothing to count", async () => {
  const root = temporaryFolder();
  const log: unknown[] = [];
  const counts = createChangeCounts(
    {
      ...{ ...AROUND, root, log: { info: () => undefined, error: (...line) => void log.push(line) } },
      store: { get: () => undefined, live: () => [] },
    },
    { run: (_id, work) => work(), idle: () => Promise.resolve() },
  );
  counts.expect(ENDED);
  counts.onRunEnded(ENDED);
  await counts.untilCounted("ses_p");
  expect(counts.changesOf(ENDED)?.problem).toMatch(/^there is no .*w1\/tree any more$/);
  expect(log).toHaveLength(1);
});

const inside = { id: "w1", directory: "/d", isShared: true };
const elsewhere = { id: "w2", directory: "/d", isShared: false };

test.each<[string, Record<string, string>, Task[], WorktreeRecord["gone"]]>([
  ["goes", {}, [], { why: "clean", at: 7 }],
  [
    "goes, though other tasks run",
    {},
    [
      { ...WITHOUT, status: "running" },
      { ...RUNNING, worktree: elsewhere },
      { ...ENDED, worktree: inside },
    ],
    { why: "clean", at: 7 },
  ],
  ["stays while another task works in it", {}, [{ ...RUNNING, sessionID: "ses_2", worktree: inside }], undefined],
  ["stays where something is hidden in it", { "notes/.gitignore": "*\n", "notes/n.txt": "n\n" }, [], undefined],
])("a worktree in which nothing was changed %s", async (_name, files, live, gone) => {
  const root = join(temporaryFolder(), "worktrees");
  const { tree, paths, worktree } = await makeTaskWorktree(newRepository({ "a.txt": "1\n" }), root);
  tree.write(files);
  const store = { get: () => undefined, live: () => live.map((task) => ({ task }) as never) };
  const clock = createVirtualClock(7);
  const queues = { run: <T>(_id: string, work: () => Promise<T>) => work(), idle: () => Promise.resolve() };
  const counts = createChangeCounts({ ...AROUND, root, clock, store }, queues);
  expect(await counts.countAgain({ ...ENDED, worktree })).toMatchObject({ run: 0, files: [] });
  expect(readRecord(paths)?.gone).toEqual(gone);
  expect(existsSync(paths.tree)).toBe(gone === undefined);
});
