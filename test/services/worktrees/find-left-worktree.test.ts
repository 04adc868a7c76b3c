import { expect, test } from "vitest";
import { GitError } from "../../../src/services/worktrees/git/git.ts";
import { askGit, findLeftWorktree, NotDone } from "../../../src/services/worktrees/left-changes.ts";
import type { WorktreeRecord } from "../../../src/services/worktrees/record.ts";
import type { Task } from "../../../src/task.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { ENDED, know, type Left, RECORD } from "./known-worktrees.ts";

const on = (at: number) => `day ${at}`;

type Gone = NonNullable<WorktreeRecord["gone"]>["why"];
const gone = (why: Gone): WorktreeRecord => ({ ...RECORD, gone: { why, at: 5 } });
const { base: _, ...HALF_MADE } = RECORD;
const NO_TREE = { hasTree: false };
const PATCH = { hasTree: false, hasPatch: true };

test.each<[string, Partial<Task>, string]>([
  ["has no worktree", { worktree: undefined }, 'Task ses_1 "write" worked in /project itself.'],
  [
    "shares that of the task that launched it",
    { worktree: { id: "w1", directory: "/d", isShared: true }, parentTaskId: "ses_2" },
    'Task ses_1 "write" worked in the worktree of task ses_2: name that one.',
  ],
  [
    "shares that of a task that nobody names",
    { worktree: { id: "w1", directory: "/d", isShared: true } },
    'Task ses_1 "write" worked in the worktree of another task: name that one.',
  ],
  ["still runs", { status: "running" }, 'Task ses_1 "write" still runs. Wait for its end, or cancel it.'],
])("where a task %s, there is nothing to apply", (_name, task, reason) => {
  const root = temporaryFolder();
  know(root, RECORD);
  expect(() => findLeftWorktree(root, { ...ENDED, ...task } as Task, on)).toThrow(new NotDone(reason));
});

test.each<["apply" | "discard", string, WorktreeRecord | undefined, Left, (patch: string, tree: string) => string]>([
  ["apply", "had no changes", gone("clean"), NO_TREE, () => "since day 5: nothing was changed in it."],
  ["apply", "was applied", gone("applied"), PATCH, () => "since day 5: its changes were applied."],
  [
    "apply",
    "was discarded",
    gone("discarded"),
    PATCH,
    (patch) => `since day 5: its changes were discarded. Its patch is still in ${patch}.`,
  ],
  [
    "apply",
    "expired",
    gone("expired"),
    PATCH,
    (patch) =>
      `since day 5: it was kept for the time that the option worktree.keep gives it. Its patch is still in ${patch}.`,
  ],
  [
    "apply",
    "was sent",
    gone("sent"),
    PATCH,
    (patch) => `since day 5: its changes are with the server that launched it. Its patch is still in ${patch}.`,
  ],
  ["discard", "was applied", gone("applied"), PATCH, () => "since day 5: its changes were applied."],
  ["discard", "expired without a patch", gone("expired"), NO_TREE, () => "since day 5: it was kept"],
  ["apply", "is not known", undefined, {}, (_patch, tree) => `is gone: there is no ${tree}.`],
  ["discard", "is not known", undefined, PATCH, (_patch, tree) => `is gone: there is no ${tree}.`],
  ["apply", "was never whole", HALF_MADE, {}, (_patch, tree) => `is gone: there is no ${tree}.`],
  ["apply", "was removed by hand", RECORD, PATCH, (_patch, tree) => `is gone: there is no ${tree}.`],
])("to %s what is in a worktree that %s is refused", (use, _name, record, left, reason) => {
  const root = temporaryFolder();
  const { patch, tree } = know(root, record, left);
  expect(() => findLeftWorktree(root, ENDED, on, use)).toThrow(reason(patch, tree));
});

test.each<["apply" | "discard", string, WorktreeRecord, Left]>([
  ["apply", "is there", RECORD, {}],
  ["discard", "is there", RECORD, {}],
  ["discard", "expired, and has its patch", gone("expired"), PATCH],
  ["discard", "was removed by hand, and has its patch", RECORD, PATCH],
])("to %s what is in a worktree that %s is possible", (use, _name, record, left) => {
  const root = temporaryFolder();
  const paths = know(root, record, left);
  expect(findLeftWorktree(root, ENDED, on, use)).toEqual({ task: ENDED, paths, record, base: "c0ffee" });
});

test("what git or the disk says becomes a reason for a person, and a mistake in the program stays one", async () => {
  const disk = Object.assign(new Error("ENOSPC: no space left on device"), { syscall: "write" });
  await expect(askGit("Nothing was applied", Promise.reject(new GitError("bad\nobject")))).rejects.toThrow(
    new NotDone("Nothing was applied: bad object."),
  );
  await expect(askGit("Nothing was applied", Promise.reject(disk))).rejects.toThrow(
    new NotDone("Nothing was applied: ENOSPC: no space left on device."),
  );
  const mistake = new TypeError("not a function");
  await expect(askGit("Nothing was applied", Promise.reject(mistake))).rejects.toBe(mistake);
  await expect(askGit("Nothing was applied", Promise.resolve(1))).resolves.toBe(1);
});
