import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { pathsOf } from "../../../src/services/worktrees/folders.ts";
import { discardLeftChanges, findLeftWorktree } from "../../../src/services/worktrees/left-changes.ts";
import { readChangesIn } from "../../../src/services/worktrees/read-changes.ts";
import { readRecord } from "../../../src/services/worktrees/record.ts";
import { newRepository, temporaryFolder } from "../../fakes/repository.ts";
import { createStage, PARENT, type Stage, type StageOptions } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../../patience.ts";

const HOUR = 3_600_000;

/** The plugin in a project under git, with a file that is not committed. */
const begin = (options: Omit<StageOptions, "worktree"> & { worktree?: StageOptions["worktree"] } = {}) => {
  const project = newRepository({ "a.txt": "one\ntwo\nthree\n" });
  project.write({ "new.txt": "not committed\n" });
  const root = join(temporaryFolder(), "worktrees");
  const stage = createStage({ directory: project.top, ...options, worktree: { root, ...options.worktree } });
  return { project, root, stage };
};

const treeOf = (stage: Stage, task: string): string => stage.task(task).worktree?.directory ?? "";

/** Waits for what git does, which takes real time. */
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: PATIENCE_MS, interval: 10 });

/** The parent's notices, once there are that many. */
const noticesOf = async (stage: Stage, count: number): Promise<string[]> => {
  await until(() => expect(stage.notices()).toHaveLength(count));
  return stage.notices().map((parts) => parts.map(({ text }) => text).join("\n"));
};

test("a task works in a worktree with the files as they stand; its changes are counted, told and kept as a patch", async () => {
  const { project, root, stage } = begin();
  const task = await stage.launch({ worktree: true });
  const tree = treeOf(stage, task);
  expect(tree.startsWith(root)).toBe(true);
  expect(stage.host.at(task).directory).toBe(tree);
  expect(stage.task(task)).toMatchObject({ directory: project.top, worktree: { isShared: false } });
  expect(readFileSync(join(tree, "new.txt"), "utf8")).toBe("not committed\n");

  writeFileSync(join(tree, "a.txt"), "one\n2\nthree\n");
  writeFileSync(join(tree, "b.txt"), "b\n");
  stage.host.finish(task, "done");
  const [notice] = await noticesOf(stage, 1);
  expect(notice).toContain(`In its worktree: 2 files changed (+2 −1). To apply them: opencode-taskchart apply ${task}`);
  expect(notice).toContain('- "a.txt" +1 −1\n- "b.txt" added +1 −0');
  const report = await stage.call("output", { task_id: task });
  expect(report).toContain("2 files changed (+2 −1)");
  expect(existsSync(project.path("b.txt"))).toBe(false);
  project.git("apply", join(tree, "..", "changes.patch"));
  expect(project.read("a.txt")).toBe("one\n2\nthree\n");
});

test("the options give an agent's tasks a worktree each, and false does not take it away", async () => {
  const { stage } = begin({ worktree: { agents: ["general"] } });
  const tasks = [await stage.launch(), await stage.launch({ worktree: false })];
  const other = await stage.launch({ agent: "explore" });
  expect(new Set(tasks.map((task) => treeOf(stage, task))).size).toBe(2);
  expect(stage.task(other).worktree).toBeUndefined();
});

test("a worktree in which nothing was changed goes at the end, and is made again for a resume", async () => {
  const { project, root, stage } = begin();
  const task = await stage.launch({ worktree: true });
  const tree = treeOf(stage, task);
  stage.host.finish(task, "looked at it");
  expect((await noticesOf(stage, 1))[0]).toContain("Worktree: no file changed in it.");
  await until(() => expect(existsSync(tree)).toBe(false));
  expect(stage.host.calls).toContain("closeDirectory");
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
  await stage.clock.advance(2_000);

  project.write({ "later.txt": "written since" });
  await stage.call("task", { resume: task, prompt: "Now write." });
  expect(readFileSync(join(tree, "later.txt"), "utf8")).toBe("written since");
  writeFileSync(join(tree, "b.txt"), "b\n");
  stage.host.finish(task, "written");
  expect((await noticesOf(stage, 2))[1]).toContain("1 file changed (+1 −0)");
  expect(readdirSync(root)).toHaveLength(1);
});

test("a retry goes on in the worktree with what the run before left there, and makes it again where nothing was left", async () => {
  const { stage } = begin();
  const [changed, unchanged] = [await stage.launch({ worktree: true }), await stage.launch({ worktree: true })];
  const trees = [changed, unchanged].map((task) => treeOf(stage, task));
  writeFileSync(join(trees[0] ?? "", "b.txt"), "half of it\n");
  for (const task of [changed, unchanged]) stage.host.fail(task, { name: "APIError", message: "400" });
  await noticesOf(stage, 1);
  await until(() => expect(existsSync(trees[1] ?? "")).toBe(false));
  await stage.clock.advance(2_000);
  for (const task of [changed, unchanged]) await stage.call("task", { retry: task });
  expect(readFileSync(join(trees[0] ?? "", "b.txt"), "utf8")).toBe("half of it\n");
  expect(readFileSync(join(trees[1] ?? "", "a.txt"), "utf8")).toContain("one");
});

test("a resume that finds the tree of its task's worktree no repository any more is refused, and prompts nobody", async () => {
  const { project, stage } = begin();
  const task = await stage.launch({ worktree: true });
  stage.host.finish(task, "looked at it");
  await noticesOf(stage, 1);
  await until(() => expect(existsSync(treeOf(stage, task))).toBe(false));
  await stage.clock.advance(2_000);
  rmSync(project.path(".git"), { recursive: true });
  const prompts = stage.host.attempts.length;
  await expect(stage.call("task", { resume: task, prompt: "Now write." })).rejects.toThrow(/not a git repository/);
  expect(stage.host.attempts).toHaveLength(prompts);
});

test.each<[name: string, options: StageOptions["worktree"], spoil: (top: string) => void, reason: RegExp]>([
  ["is no repository", {}, (top) => rmSync(join(top, ".git"), { recursive: true }), /not a git repository/],
  [
    "has a repository in it",
    {},
    (top) => newRepository({ "b.txt": "b" }, join(top, "inner")),
    /submodules or other repositories in it \(inner\)/,
  ],
  [
    "has a repository without a commit in it",
    {},
    (top) => newRepository(undefined, join(top, "inner")),
    /submodules or other repositories in it \(inner\)/,
  ],
  ["cannot be prepared", { setup: "echo no disk >&2; exit 3" }, () => undefined, /setup command ended with 3: no disk/],
])(
  "where the tree %s, the launch is refused with the reason, and nothing is left",
  async (_, options, spoil, reason) => {
    const { project, root, stage } = begin({ worktree: options });
    spoil(project.top);
    const sessions = stage.host.sessionIDs().length;
    await expect(stage.launch({ worktree: true })).rejects.toThrow(reason);
    expect(stage.host.sessionIDs()).toHaveLength(sessions);
    expect(existsSync(root) ? readdirSync(root) : []).toEqual([]);
    if (existsSync(project.path(".git"))) {
      expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
    }
  },
);

test("what the setup command makes belongs to the beginning, and it is told where the tree came from", async () => {
  const { project, stage } = begin({ worktree: { setup: 'cp "$TASKCHART_SOURCE/secret" . && echo made > made.txt' } });
  project.write({ ".gitignore": "secret\n", secret: "s" });
  const task = await stage.launch({ worktree: true });
  expect(readFileSync(join(treeOf(stage, task), "secret"), "utf8")).toBe("s");
  stage.host.finish(task, "done");
  expect((await noticesOf(stage, 1))[0]).toContain("Worktree: no file changed in it.");
});

test("the packages that OpenCode has installed in a tracked .opencode are shared, and are no change", async () => {
  const { project, stage } = begin();
  project.write({ ".opencode/agent/reviewer.md": "Review.", ".gitignore": ".opencode/node_modules/\n" });
  project.write({ ".opencode/node_modules/x/index.js": "x", ".opencode/package-lock.json": "{}" });
  const task = await stage.launch({ worktree: true });
  expect(readFileSync(join(treeOf(stage, task), ".opencode/node_modules/x/index.js"), "utf8")).toBe("x");
  expect(existsSync(join(treeOf(stage, task), ".opencode/package-lock.json"))).toBe(true);
  stage.host.finish(task, "done");
  expect((await noticesOf(stage, 1))[0]).toContain("Worktree: no file changed in it.");
  await until(() => expect(existsSync(treeOf(stage, task))).toBe(false));
  expect(project.read(".opencode/node_modules/x/index.js")).toBe("x");
});

test("a turn that is aborted while the worktree is prepared ends the command, and nothing is left", async () => {
  const { root, stage } = begin({ worktree: { setup: "touch begun; sleep 60" } });
  const turn = new AbortController();
  const launch = stage.launch({ worktree: true }, { abort: turn.signal });
  await until(() => expect(existsSync(join(root, readdirSync(root)[0] ?? "", "tree", "begun"))).toBe(true));
  turn.abort();
  await expect(launch).rejects.toThrow("aborted");
  await until(() => expect(readdirSync(root)).toEqual([]));
  expect(stage.host.calls).not.toContain("createSession");
});

test("a launch is refused where OpenCode starts no plugin in the worktree", async () => {
  const { root, stage } = begin({ isServed: () => false });
  const sessions = stage.host.sessionIDs().length;
  await expect(stage.launch({ worktree: true })).rejects.toThrow(/starts no opencode-taskchart in a worktree/);
  expect(stage.host.sessionIDs()).toHaveLength(sessions);
  expect(readdirSync(root)).toEqual([]);
});

test("a caller in a folder below the top works in the same folder of the worktree", async () => {
  const project = newRepository({ "sub/a.txt": "a", "b.txt": "b" });
  const root = join(temporaryFolder(), "worktrees");
  const stage = createStage({ directory: project.path("sub"), worktree: { root } });
  const task = await stage.launch({ worktree: true });
  expect(readFileSync(join(treeOf(stage, task), "a.txt"), "utf8")).toBe("a");
  expect(readFileSync(join(treeOf(stage, task), "..", "b.txt"), "utf8")).toBe("b");
});

test("tasks of a task in a worktree work there; one that asks for its own is refused; its changes are the upper task's", async () => {
  const { root, stage } = begin({ worktree: { agents: ["general"] } });
  const task = await stage.launch();
  const tree = treeOf(stage, task);
  await expect(stage.launch({ worktree: true }, { sessionID: task })).rejects.toThrow("leave worktree out");
  const below = await stage.launch({}, { sessionID: task });
  expect(stage.task(below).worktree).toMatchObject({ directory: tree, isShared: true });
  expect(readdirSync(root)).toHaveLength(1);
  writeFileSync(join(tree, "below.txt"), "b\n");
  stage.host.finish(below, "done below");
  await until(() => expect(stage.notices(task)).toHaveLength(1));
  await settled();
  stage.host.finish(task, "done");
  expect((await noticesOf(stage, 1))[0]).toContain('"below.txt" added');
});

test("what cannot be counted is said with the reason, and the worktree stays", async () => {
  const { project, stage } = begin();
  const task = await stage.launch({ worktree: true });
  rmSync(project.path(".git/worktrees"), { recursive: true });
  stage.host.finish(task, "done");
  expect((await noticesOf(stage, 1))[0]).toMatch(/could not be counted: "the repository in .* has no worktree at/);
  expect(existsSync(treeOf(stage, task))).toBe(true);
});

test("a caller in a worktree of the person's own is a caller like any other", async () => {
  const main = newRepository({ "a.txt": "a" });
  const linked = join(temporaryFolder(), "linked");
  main.git("worktree", "add", "--quiet", "-b", "feature", linked);
  writeFileSync(join(linked, "own.txt"), "not committed");
  const stage = createStage({ directory: linked, worktree: { root: join(temporaryFolder(), "worktrees") } });
  const task = await stage.launch({ worktree: true });
  expect(readFileSync(join(treeOf(stage, task), "own.txt"), "utf8")).toBe("not committed");
});

test("the agent that launches a task is told that it works in a worktree", async () => {
  const { stage } = begin();
  const answer = await stage.call("task", { description: "d", prompt: "p", agent: "general", worktree: true });
  expect(answer).toContain(", in a git worktree).");
});

test("clearing a task removes all that is known of its worktree once a person has decided about its changes", async () => {
  const { project, root, stage } = begin();
  const task = await stage.launch({ worktree: true });
  writeFileSync(join(treeOf(stage, task), "b.txt"), "b\n");
  stage.host.finish(task, "done");
  await noticesOf(stage, 1);
  const left = findLeftWorktree(root, stage.task(task), String);
  await discardLeftChanges(left, { isAtWork: async () => false, now: stage.clock.now });
  expect(await stage.call("clear", { task_id: task })).toContain("Removed");
  await until(() => expect(readdirSync(root)).toEqual([]));
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

test("a worktree with changes is kept for its time; its patch stays with the task", async () => {
  const { root, stage } = begin({ worktree: { keep: 3 * HOUR } });
  const task = await stage.launch({ worktree: true });
  const tree = treeOf(stage, task);
  writeFileSync(join(tree, "b.txt"), "b\n");
  stage.host.finish(task, "done");
  await noticesOf(stage, 1);
  await stage.clock.advance(2 * HOUR);
  expect(existsSync(tree)).toBe(true);
  await stage.clock.advance(3 * HOUR);
  await until(() => expect(existsSync(tree)).toBe(false));
  const [id = ""] = readdirSync(root);
  expect(readFileSync(join(root, id, "changes.patch"), "utf8")).toContain("b.txt");
  expect(await stage.call("output", { task_id: task })).toContain(
    "1 file changed (+1 −0), which the user has not applied in time.",
  );
});

test("a worktree whose launch was cut off is removed by the next process", async () => {
  const { root, stage } = begin({ worktree: { setup: "touch begun" } });
  stage.host.holdNext("createSession");
  void stage.launch({ worktree: true }).catch(() => undefined);
  await until(() => expect(stage.host.calls).toContain("createSession"));
  await stage.restart();
  await stage.clock.advance(3 * HOUR);
  await until(() => expect(readdirSync(root)).toEqual([]));
});

test("a task that is continued after a crash is not prompted in a worktree that is gone", async () => {
  const { stage } = begin();
  const task = await stage.launch({ worktree: true });
  await stage.restart();
  rmSync(treeOf(stage, task), { recursive: true });
  const prompts = stage.host.attempts.filter(({ sessionID }) => sessionID === task).length;
  await until(async () => {
    await stage.clock.advance(10_000);
    expect(stage.task(task).status).toBe("error");
  });
  expect(stage.task(task).error?.message).toMatch(/worktree of task .* is gone/);
  expect(stage.host.attempts.filter(({ sessionID }) => sessionID === task)).toHaveLength(prompts);
});

test("changes of a run whose process died before they were counted are counted by the next one, before they are told", async () => {
  const { stage } = begin();
  const task = await stage.launch({ worktree: true });
  writeFileSync(join(treeOf(stage, task), "b.txt"), "b\n");
  stage.host.finish(task, "done");
  await stage.restart();
  await stage.clock.advance(30_000);
  expect((await noticesOf(stage, 1))[0]).toContain('"b.txt" added');
  expect(stage.host.at(PARENT).busy).toBe(false);
});

test("a data folder behind a symbolic link is named as OpenCode names it", async () => {
  const folder = temporaryFolder();
  symlinkSync(temporaryFolder(), join(folder, "link"));
  const { stage } = begin({ worktree: { root: join(folder, "link", "worktrees") } });
  const task = await stage.launch({ worktree: true });
  expect(treeOf(stage, task)).toBe(realpathSync(treeOf(stage, task)));
  const below = await stage.launch({}, { sessionID: task });
  expect(stage.task(below).worktree?.isShared).toBe(true);
});

describe("an agent that clears tasks keeps changes that no person has decided about", () => {
  /** A task that wrote a file in its worktree, and one that worked in the project itself. */
  const withTwoTasks = async (options: Parameters<typeof begin>[0] = {}) => {
    const { project, root, stage } = begin(options);
    const task = await stage.launch({ description: "write", batch_id: "b", worktree: true });
    const tree = treeOf(stage, task);
    writeFileSync(join(tree, "b.txt"), "b\n");
    const other = await stage.launch({ batch_id: "b" });
    stage.host.finish(other, "done");
    return { project, root, stage, task, tree, other };
  };

  test.each<[string, (task: string) => Record<string, string>]>([
    ["by its id", (task) => ({ task_id: task })],
    ["by its batch", () => ({ batch_id: "b" })],
    ["with all of its session", () => ({})],
  ])("%s", async (_, args) => {
    const { stage, task, tree, other } = await withTwoTasks();
    stage.host.finish(task, "done");
    await until(() => expect(stage.notices().flat()).not.toHaveLength(0));
    await stage.call("output", { task_id: task });
    const answer = await stage.call("clear", args(task));
    expect(answer).toContain(`Kept ${task} "write" (completed): it has 1 file changed (+1 −0) in its worktree`);
    expect(answer).toContain(`opencode-taskchart apply ${task}`);
    expect(stage.task(task).status).toBe("completed");
    expect(readFileSync(join(tree, "b.txt"), "utf8")).toBe("b\n");
    expect(stage.engine.get(other)).toEqual("task_id" in args(task) ? expect.anything() : undefined);
  });

  test("of a task that runs, which it cancels", async () => {
    const { stage, task, tree } = await withTwoTasks();
    const answer = await stage.call("clear", { task_id: task });
    expect(answer).toContain(`Kept ${task} "write" (cancelled): it has 1 file changed (+1 −0)`);
    expect(stage.task(task).status).toBe("cancelled");
    expect(existsSync(join(tree, "b.txt"))).toBe(true);
  });

  test("of a task below the one that it names, which it keeps too", async () => {
    const { stage } = begin();
    const task = await stage.launch();
    const below = await stage.launch({ description: "write below", worktree: true }, { sessionID: task });
    writeFileSync(join(treeOf(stage, below), "b.txt"), "b\n");
    stage.host.finish(below, "done");
    await until(() => expect(stage.notices(task)).toHaveLength(1));
    const answer = await stage.call("clear");
    expect(answer).toContain(`Kept ${task}`);
    expect(answer).toContain(`its subtask ${below} "write below" has 1 file changed (+1 −0) in its worktree`);
    expect(stage.task(task).status).toBe("cancelled");
    expect(existsSync(join(treeOf(stage, below), "b.txt"))).toBe(true);
  });

  test("that could not be counted", async () => {
    const { project, stage, task, tree } = await withTwoTasks();
    rmSync(project.path(".git/worktrees"), { recursive: true });
    stage.host.finish(task, "done");
    await stage.call("output", { task_id: task });
    expect(await stage.call("clear")).toContain("it has changes that could not be counted");
    expect(existsSync(join(tree, "b.txt"))).toBe(true);
  });

  test("of which a patch is left, until a person discards that", async () => {
    const { root, stage, task, tree } = await withTwoTasks({ worktree: { keep: HOUR } });
    stage.host.finish(task, "done");
    await until(() => expect(stage.notices().flat()).not.toHaveLength(0));
    await stage.call("output", { task_id: task });
    await stage.clock.advance(3 * HOUR);
    await until(() => expect(existsSync(tree)).toBe(false));
    expect(await stage.call("clear", { task_id: task })).toContain("it has 1 file changed (+1 −0)");
    expect(readFileSync(join(tree, "..", "changes.patch"), "utf8")).toContain("b.txt");

    const use = { isAtWork: async () => false, now: stage.clock.now };
    const left = findLeftWorktree(root, stage.task(task), String, "discard");
    // Whoever has removed the tree may still have the lock.
    await until(async () => expect((await discardLeftChanges(left, use)).files).toHaveLength(1));
    expect(await stage.call("clear", { task_id: task })).toContain("Removed");
    await until(() => expect(readdirSync(root)).toEqual([]));
  });

  test("nor does it remove them by launching more tasks than are to be kept", async () => {
    const { stage, task, tree } = await withTwoTasks({ retention: { count: 1 }, worktree: { keep: 120 * HOUR } });
    stage.host.finish(task, "done");
    await stage.call("output", { task_id: task });
    await until(() => expect(stage.notices().flat()).not.toHaveLength(0));
    for (const result of ["1", "2", "3"]) await stage.complete(result);
    await stage.clock.advance(2 * HOUR);
    expect(stage.engine.list({}).length).toBe(2);
    expect(stage.task(task).status).toBe("completed");
    expect(existsSync(join(tree, "b.txt"))).toBe(true);
  });

  test("and resuming the task goes on with them, although its worktree has gone meanwhile", async () => {
    const { project, stage, task, tree } = await withTwoTasks({ worktree: { keep: HOUR } });
    stage.host.finish(task, "done");
    await until(() => expect(stage.notices().flat()).not.toHaveLength(0));
    await stage.call("output", { task_id: task });
    await stage.clock.advance(3 * HOUR);
    await until(() => expect(existsSync(tree)).toBe(false));
    project.write({ "b.txt": "of the person\n" });
    await stage.call("task", { resume: task, prompt: "Go on." });
    expect(readFileSync(join(tree, "b.txt"), "utf8")).toBe("b\n");
    writeFileSync(join(tree, "c.txt"), "c\n");
    stage.host.finish(task, "done");
    expect(await stage.call("output", { task_id: task, block: true })).toContain("2 files changed (+2 −0)");
  });
});

describe("a notice says of each task in a worktree what it changed", () => {
  test("of one that ends while the parent is read for the notice of another", async () => {
    const { stage } = begin();
    const [one, other] = [await stage.launch({ worktree: true }), await stage.launch({ worktree: true })];
    for (const [task, file] of [
      [one, "one.txt"],
      [other, "other.txt"],
    ] as const)
      writeFileSync(join(treeOf(stage, task), file), "1\n");
    const calls = stage.host.calls.length;
    const read = stage.host.holdNext("session");
    stage.host.finish(one, "done");
    await until(() => expect(stage.host.calls.slice(calls)).toContain("session"));
    await stage.finish(other, "done");
    expect(stage.task(other).status).toBe("completed");
    read.release();
    await until(() => expect(stage.notices().flat().join()).not.toBe(""));
    const told = stage.noticeText();
    expect(told).toContain('"one.txt" added');
    expect(told).toContain('"other.txt" added');
  });

  test("also where its folder is gone: then why nothing could be counted", async () => {
    const { stage } = begin();
    const task = await stage.launch({ worktree: true });
    rmSync(join(treeOf(stage, task), ".."), { recursive: true });
    stage.host.finish(task, "done");
    const [notice] = await noticesOf(stage, 1);
    expect(notice).toMatch(/What it changed in its worktree could not be counted: "there is no .* any more"/);
  });
});

test("a worktree with what its patch has not is removed neither as clean nor when its days are over", async () => {
  const { stage } = begin({ worktree: { keep: 2 * HOUR } });
  const task = await stage.launch({ worktree: true });
  const tree = treeOf(stage, task);
  mkdirSync(join(tree, "notes"));
  writeFileSync(join(tree, "notes", ".gitignore"), "*\n");
  writeFileSync(join(tree, "notes", "n.txt"), "n\n");
  stage.host.finish(task, "done");
  const [notice] = await noticesOf(stage, 1);
  expect(notice).toContain('Not among the changes: "notes/" (a .gitignore that the task wrote hides it).');
  await stage.clock.advance(5 * HOUR);
  await until(() => expect(stage.logged.some((line) => line.startsWith("a worktree is kept"))).toBe(true));
  expect(readFileSync(join(tree, "notes", "n.txt"), "utf8")).toBe("n\n");
});

test("what was being applied when its process ended is undone when OpenCode starts", async () => {
  const { project, root, stage } = begin();
  const task = await stage.launch({ worktree: true });
  writeFileSync(join(treeOf(stage, task), "a.txt"), "changed\n");
  writeFileSync(join(treeOf(stage, task), "z.txt"), "z\n");
  stage.host.finish(task, "done");
  await noticesOf(stage, 1);
  const [id = ""] = readdirSync(root);
  const paths = pathsOf(root, id);
  const { base = "", ...record } = readRecord(paths) ?? { source: project.top };
  const { commit: end } = await readChangesIn(paths, record, base);
  const child = new URL("../worktrees/git/apply-child.ts", import.meta.url).pathname;
  const given = { top: project.top, base, end, journal: paths, killedBefore: "placing z.txt" };
  expect(spawnSync(process.execPath, [child, JSON.stringify(given)]).signal).toBe("SIGKILL");
  expect(project.read("a.txt")).toBe("changed\n");
  await stage.restart();
  await stage.clock.advance(HOUR);
  await until(() => expect(project.read("a.txt")).toBe("one\ntwo\nthree\n"));
  await until(() => expect(existsSync(paths.applying)).toBe(false));
  expect(existsSync(treeOf(stage, task))).toBe(true);
});
