import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HostResult } from "../../../src/services/host/host.ts";
import { lock } from "../../../src/services/worktrees/lock.ts";
import { readRecord, type WorktreeRecord } from "../../../src/services/worktrees/record.ts";
import { createWorktrees, type Worktrees } from "../../../src/services/worktrees/worktrees.ts";
import type { Task, WorktreeChanges } from "../../../src/task.ts";
import { newRepository, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { ENDED, know, type Left, RECORD } from "./known-worktrees.ts";
import { signal } from "./worktrees-at-rest.ts";

const NOW = 100_000_000;

/** The worktrees of an engine in an empty folder, with all that they log and ask of OpenCode. */
const begin = (close: HostResult<void> = { ok: true, value: undefined }) => {
  const root = temporaryFolder();
  const log: unknown[] = [];
  const closed: string[] = [];
  const host = {
    closeDirectory: async (directory: string) => {
      closed.push(directory);
      return close;
    },
  };
  const worktrees = createWorktrees({
    host,
    clock: { now: () => NOW, after: () => () => undefined },
    log: { info: (...line) => void log.push(line), error: (...line) => void log.push(line) },
    options: { root, agents: ["build"], setup: undefined, keep: 1_000 },
    newId: () => "w1",
    store: { get: (id) => (id === "ses_1" ? ({ task: ENDED } as never) : undefined), live: () => [] },
  });
  return { root, worktrees, log, closed };
};

const of = (changes: Partial<WorktreeChanges> = {}): WorktreeChanges => ({ run: 0, at: 1, files: [], ...changes });
const FILES = of({ files: [{ path: "a.txt", change: "modified" }] });
const IGNORED = of({ leftOut: [{ path: "n/", why: "ignored" }] });
const PROBLEM = of({ problem: "git failed" });
const gone = (why: NonNullable<WorktreeRecord["gone"]>["why"]): WorktreeRecord => ({ ...RECORD, gone: { why, at: 5 } });
const shared: Task = { ...ENDED, worktree: { id: "w1", directory: "/d", isShared: true } };
const without = { ...ENDED, worktree: undefined } as unknown as Task;

describe("what nobody has decided about is", () => {
  const uncounted = { run: 0, at: NOW, files: [], problem: "they were not counted" };

  test.each<[string, Task, WorktreeRecord | undefined, Left, WorktreeChanges | undefined]>([
    ["none, of a task without a worktree", without, RECORD, { changes: FILES }, undefined],
    ["none, of a task that shares one", shared, RECORD, { changes: FILES }, undefined],
    ["none, where nothing is known", ENDED, undefined, { changes: FILES }, undefined],
    ["none, where it was applied", ENDED, gone("applied"), { changes: FILES, hasPatch: true }, undefined],
    ["none, where neither files nor a patch are left", ENDED, RECORD, { changes: FILES, hasTree: false }, undefined],
    ["what was counted", ENDED, RECORD, { changes: FILES }, FILES],
    [
      "what was counted, where a patch is left",
      ENDED,
      RECORD,
      { changes: FILES, hasTree: false, hasPatch: true },
      FILES,
    ],
    [
      "what was counted before it expired",
      ENDED,
      gone("expired"),
      { changes: FILES, hasTree: false, hasPatch: true },
      { ...FILES, became: "expired" },
    ],
    ["none, where nothing was changed", ENDED, RECORD, { changes: of() }, undefined],
    ["what git does not see", ENDED, RECORD, { changes: IGNORED }, IGNORED],
    ["not known, where counting failed", ENDED, RECORD, { changes: PROBLEM }, PROBLEM],
    ["not known, where nothing was counted", ENDED, RECORD, {}, uncounted],
    [
      "not known, where an earlier run was counted",
      { ...ENDED, resumeCount: 1 },
      RECORD,
      { changes: FILES },
      {
        ...uncounted,
        run: 1,
      },
    ],
    [
      "not known, while the task runs",
      { ...ENDED, status: "running" },
      RECORD,
      { changes: FILES },
      {
        ...uncounted,
        problem: "the task still runs",
      },
    ],
  ])("%s", (_, task, record, left, expected) => {
    const { root, worktrees } = begin();
    know(root, record, left);
    expect(worktrees.undecidedChanges(task)).toEqual(expected);
  });

  test("that of the tasks of a project whose worktrees are there", () => {
    const { root, worktrees } = begin();
    const { taskId: _, ...withoutTask } = RECORD;
    know(root, RECORD, {}, "w1");
    know(root, { ...RECORD, taskId: "ses_2", project: "/other" }, {}, "w2");
    know(root, { ...gone("expired"), taskId: "ses_3" }, {}, "w3");
    know(root, { ...RECORD, taskId: "ses_4" }, { hasTree: false }, "w4");
    know(root, withoutTask, {}, "w5");
    know(root, undefined, {}, "w6");
    expect(worktrees.undecidedTasks("/project")).toEqual(["ses_1"]);
  });
});

describe("a worktree of a task whose changes are with the server that launched it", () => {
  test.each<[string, Pick<Task, "worktree">, WorktreeRecord | undefined, Left, WorktreeRecord["gone"], boolean]>([
    ["goes, where all of it was counted", ENDED, RECORD, { changes: FILES }, { why: "sent", at: NOW }, false],
    ["goes, where nothing was counted", ENDED, RECORD, {}, { why: "sent", at: NOW }, false],
    ["stays, where its patch has not all of it", ENDED, RECORD, { changes: IGNORED }, undefined, true],
    ["stays, where it could not be counted", ENDED, RECORD, { changes: PROBLEM }, undefined, true],
    ["stays, where it is another task's", shared, RECORD, { changes: FILES }, undefined, true],
    ["stays as it is, where it was gone before", ENDED, gone("applied"), {}, { why: "applied", at: 5 }, true],
  ])("%s", async (_, task, record, left, expected, isLeft) => {
    const { root, worktrees, log } = begin();
    const paths = know(root, record, left);
    worktrees.putAway(task);
    await worktrees.remove("another");
    await expect.poll(() => existsSync(paths.tree)).toBe(isLeft);
    await settled();
    expect(readRecord(paths)?.gone).toEqual(expected);
    expect(log).toEqual([]);
  });
});

test("a worktree that has expired is closed in OpenCode and removed, and what is known of it stays", async () => {
  const { root, worktrees, closed } = begin();
  const { base: _, ...halfMade } = RECORD;
  const paths = know(root, { ...halfMade, subfolder: "sub" });
  await worktrees.expire("w1");
  expect(closed).toEqual([join(paths.tree, "sub")]);
  expect(existsSync(paths.tree)).toBe(false);
  expect(readRecord(paths)).toEqual({ ...halfMade, subfolder: "sub", gone: { why: "expired", at: NOW } });
});

test("what is left of a worktree that is gone goes for the reason that was noted", async () => {
  const { root, worktrees, log } = begin();
  const paths = know(root, gone("discarded"));
  const files = [{ path: "a.txt", change: "added" }];
  const journal = { top: root, staging: join(root, "staging"), isWritten: true, units: [], marks: {}, files };
  writeFileSync(paths.applied, JSON.stringify(journal));
  await worktrees.expire("w1");
  const cutOff = { became: "finished", tree: root, files: 1, left: [] };
  expect(log).toEqual([["applying changes was cut off", { id: "w1", ...cutOff }]]);
  expect(readRecord(paths)?.gone).toEqual({ why: "discarded", at: 5 });
  expect([existsSync(paths.tree), existsSync(paths.applied)]).toEqual([false, false]);
  await worktrees.expire("of which nothing is known");
});

test("a worktree that OpenCode does not close goes as well, and that is logged", async () => {
  const { root, worktrees, log } = begin({
    ok: false,
    failure: { kind: "unavailable", name: "Timeout", message: "it took too long" },
  });
  const paths = know(root, RECORD);
  await worktrees.remove("w1");
  expect(existsSync(paths.folder)).toBe(false);
  expect(log).toEqual([["OpenCode did not close a worktree", { id: "w1", reason: "it took too long" }]]);
});

test("of tasks that are cleared, what they had of their own goes", async () => {
  const { root, worktrees, closed } = begin();
  const paths = know(root, RECORD);
  const other = know(root, { ...RECORD, taskId: "ses_2" }, {}, "w2");
  const away = know(root, RECORD, { hasTree: false }, "w3");
  worktrees.forget([
    without,
    { ...shared, worktree: { id: "w2", directory: "/d", isShared: true } },
    ENDED,
    { ...ENDED, worktree: { id: "w3", directory: "/d", isShared: false } },
  ]);
  await expect.poll(() => existsSync(paths.folder) || existsSync(away.folder)).toBe(false);
  expect(existsSync(other.tree)).toBe(true);
  expect(closed).toEqual([paths.tree]);
});

test("one that cannot be removed is logged", async () => {
  const { root, worktrees, log } = begin();
  const release = lock(know(root, RECORD), NOW);
  worktrees.forget([ENDED]);
  worktrees.putAway(ENDED);
  await expect.poll(() => log.length).toBe(2);
  const reason = "its changes are being applied or discarded";
  expect(log).toEqual(Array(2).fill(["a worktree could not be removed", { id: "w1", reason }]));
  release?.();
});

test("a sweep does what is due, says so, and goes on where that fails", async () => {
  const { root, worktrees, log } = begin();
  const expired = know(root, RECORD, {}, "w1");
  const lost = know(root, { ...RECORD, taskId: "ses_2" }, {}, "w2");
  const young = know(root, { ...RECORD, taskId: "ses_2", createdAt: NOW }, {}, "w3");
  const broken = know(root, RECORD, {}, "w4");
  writeFileSync(broken.applying, "no journal");
  const { base: _, ...halfMade } = RECORD;
  writeFileSync(expired.record, JSON.stringify(halfMade));
  const swept = worktrees.sweep("/project", (id) => (id === "ses_1" ? ENDED : undefined));
  expect(swept).toHaveLength(3);
  await Promise.all(swept);
  expect([expired.tree, lost.folder, young.tree, broken.tree].map(existsSync)).toEqual([false, false, true, true]);
  expect(log).toEqual([
    ["a worktree is swept", { id: "w1", what: "expire" }],
    ["a worktree is swept", { id: "w2", what: "remove" }],
    ["a worktree is swept", { id: "w4", what: "recover" }],
    ["a worktree could not be swept", { id: "w4", what: "recover", reason: expect.stringContaining("JSON") }],
  ]);
  expect(begin().worktrees.sweep("/project", () => ENDED)).toEqual([]);
});

describe("before a task goes on, its worktree", () => {
  const isReady = { ok: true, value: undefined };
  const isGone = { ok: false, reason: "The worktree of task ses_1 is gone. Launch a new task." };

  test.each<[string, Task, WorktreeRecord | undefined, Left, object]>([
    ["is none of its concern, where it has none", without, undefined, {}, isReady],
    ["is ready, where it is there", ENDED, RECORD, {}, isReady],
    ["is ready, where it is another task's", shared, RECORD, {}, isReady],
    ["is ready, where it is there and nothing is known of it", ENDED, undefined, {}, isReady],
    ["cannot be made again, where nothing is known of it", ENDED, undefined, { hasTree: false }, isGone],
    ["cannot be made again, where it is another task's", shared, RECORD, { hasTree: false }, isGone],
    ["cannot be made again, where another task's is half removed", shared, gone("expired"), {}, isGone],
  ])("%s", async (_, task, record, left, expected) => {
    const { root, worktrees } = begin();
    know(root, record, left);
    expect(await worktrees.prepare(task, signal)).toMatchObject(expected);
  });

  test("is waited for while its changes are applied", async () => {
    const { root, worktrees } = begin();
    lock(know(root, RECORD), NOW);
    expect(await worktrees.prepare(ENDED, signal)).toMatchObject({
      ok: false,
      reason: "The changes of task ses_1 are being applied or discarded. Try again in a moment.",
    });
  });

  test.each<[string, WorktreeRecord, Left]>([
    ["is gone", gone("expired"), {}],
    ["was never whole", { ...RECORD, base: undefined } as WorktreeRecord, {}],
    ["was removed by hand", RECORD, { hasTree: false }],
  ])("is made again, where it %s, unless its repository is gone: then that is said", async (_, record, left) => {
    const { root, worktrees } = begin();
    know(root, { ...record, subfolder: "sub" }, left);
    expect(await worktrees.prepare(ENDED, signal)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(
        /^No worktree could be made from "\/nowhere\/at\/all\/sub": "git could not be started/,
      ),
    });
  });
});

test("of a patch there is what was counted, nothing where nothing was changed, and the reason where that is not known", async () => {
  const patchOf = async (task: Task, changes: WorktreeChanges) => {
    const { root, worktrees } = begin();
    know(root, RECORD, { changes, hasPatch: true });
    return (await worktrees.patchOf(task))?.toString();
  };
  expect(await patchOf(ENDED, FILES)).toBe("a patch");
  expect(await patchOf(ENDED, of())).toBeUndefined();
  expect(await patchOf(without, FILES)).toBeUndefined();
  expect(await patchOf({ ...ENDED, status: "running" }, FILES)).toBeUndefined();
  await expect(patchOf(ENDED, PROBLEM)).rejects.toThrow("git failed");
});

test("a task is noted as that of its own worktree alone", () => {
  const { root, worktrees } = begin();
  const { taskId: _, ...withoutTask } = RECORD;
  const paths = know(root, withoutTask);
  worktrees.assign(shared);
  worktrees.assign(without);
  expect(readRecord(paths)).toEqual(withoutTask);
  worktrees.assign(ENDED);
  expect(readRecord(paths)).toEqual(RECORD);
  worktrees.assign({ ...ENDED, worktree: { id: "w2", directory: "/d", isShared: false } });
  expect(existsSync(join(root, "w2"))).toBe(false);
});

test("which agents and directories have one", () => {
  const { root, worktrees } = begin();
  const { tree } = know(root, RECORD);
  expect([worktrees.isFor("build"), worktrees.isFor("plan")]).toEqual([true, false]);
  expect(worktrees.around(join(tree, "sub"))).toEqual({ id: "w1", directory: join(tree, "sub"), isShared: true });
  expect(worktrees.around(root)).toBeUndefined();
});

test("a task cannot be prompted in a folder that is gone", () => {
  const { root, worktrees } = begin();
  const directory = join(root, "w1", "tree");
  const task = { sessionID: "ses_1", worktree: { id: "w1", directory, isShared: false } };
  expect(worktrees.obstacleTo(task)).toBe(`The worktree of task ses_1 is gone: ${directory} does not exist.`);
  mkdirSync(directory, { recursive: true });
  expect(worktrees.obstacleTo(task)).toBeUndefined();
  expect(worktrees.obstacleTo(without)).toBeUndefined();
});

test("where none can be made, nothing is left but a folder that nobody else may read, and the reason is said", async () => {
  const { root, worktrees, log } = begin();
  rmdirSync(root);
  expect(await worktrees.make({ directory: "/nowhere/at/all", project: "/project", signal })).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^No worktree could be made from "\/nowhere\/at\/all": "git could not be started/),
  });
  expect(readdirSync(root)).toEqual([]);
  expect(statSync(root).mode & 0o777).toBe(0o700);
  expect(log).toEqual([]);
});

test("what another server changed is kept where no worktree can be made of it, and it is said where", async () => {
  const { root, worktrees } = begin();
  const given = { id: "w1", task: ENDED, directory: "/nowhere/at/all", commit: "c0ffee", before: undefined };
  expect(await worktrees.receive({ ...given, patch: Buffer.from("a patch") })).toMatchObject({
    ok: false,
    reason: expect.stringMatching(`^"git could not be started: .*"; the patch is in "${join(root, "w1")}"$`),
  });
  expect(readFileSync(join(root, "w1", "received.patch"), "utf8")).toBe("a patch");
});

test("what another server changed stays there where it cannot be kept here", async () => {
  const { root, worktrees } = begin();
  writeFileSync(join(root, "w1"), "in the way");
  const given = { id: "w1", task: ENDED, directory: "/nowhere/at/all", commit: "c0ffee", before: undefined };
  expect(await worktrees.receive({ ...given, patch: Buffer.from("a patch") })).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^"ENOTDIR.*"; the patch stays on the server that worked on it$/),
  });
});

const received = {
  id: "w1",
  task: ENDED,
  directory: "/d",
  commit: "c0ffee",
  patch: Buffer.from(""),
  before: undefined,
};

test.each<[string, (worktrees: Worktrees) => unknown]>([
  ["assigned", (worktrees) => worktrees.assign(ENDED)],
  ["prepared", (worktrees) => worktrees.prepare(ENDED, signal)],
  ["received", (worktrees) => worktrees.receive(received)],
])("a notice waits for the changes in a worktree that was %s", async (_, use) => {
  const { root, worktrees } = begin();
  know(root, RECORD, { hasPatch: true });
  expect(worktrees.untilCounted("ses_p")).toBeUndefined();
  await use(worktrees);
  await worktrees.untilCounted("ses_p");
  expect(worktrees.changesOf(ENDED)).toMatchObject({ problem: expect.stringContaining("git could not be started") });
});

test("of tasks in worktrees that are there it is counted what they left", async () => {
  const { root, worktrees } = begin();
  know(root, RECORD);
  know(root, RECORD, { hasTree: false }, "w2");
  const other: Task = { ...ENDED, sessionID: "ses_2", worktree: { id: "w2", directory: "/d", isShared: false } };
  await worktrees.countUndecided([without, other, ENDED]);
  expect(worktrees.changesOf(ENDED)?.problem).toContain("git could not be started");
  expect(worktrees.changesOf(other)).toBeUndefined();
});

test("a worktree that has more than its patch does not expire; without that it does", async () => {
  const { root, worktrees, log } = begin();
  const { tree, paths } = await makeTaskWorktree(newRepository({ "a.txt": "1\n" }), root);
  tree.write({ "notes/.gitignore": "*\n" });
  await worktrees.expire("w1");
  expect(log).toEqual([["a worktree is kept: its patch has not all of it", { id: "w1", leftOut: 1 }]]);
  expect(existsSync(paths.tree)).toBe(true);
  rmSync(tree.path("notes"), { recursive: true });
  await worktrees.expire("w1");
  expect(readRecord(paths)?.gone).toEqual({ why: "expired", at: NOW });
  expect(existsSync(paths.tree)).toBe(false);
});

test("what another server changed is taken in once", async () => {
  const { root, worktrees } = begin();
  const { tree } = know(root, { ...RECORD, subfolder: "sub" }, { hasPatch: true });
  const given = { id: "w1", task: ENDED, directory: "/nowhere/at/all", commit: "c0ffee", before: undefined };
  expect(await worktrees.receive({ ...given, patch: Buffer.from("another") })).toEqual({
    ok: true,
    value: { id: "w1", directory: join(tree, "sub"), isShared: false },
  });
});
