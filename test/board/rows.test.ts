import { expect, test } from "vitest";
import type { ListedTask } from "../../board/listed-task.ts";
import { arrange, offsetsOf, ROW_HEIGHTS, type Row, rowAt } from "../../board/rows.ts";

let minute = 0;

/** A task that was launched after those before it. */
const task = (id: string, given: Partial<ListedTask> = {}): ListedTask => {
  minute += 1;
  const startedAt = new Date(Date.UTC(2026, 10, 23, 10, minute)).toISOString();
  return {
    sessionID: id,
    parentSessionID: "ses_a",
    parentTaskId: undefined,
    parentAgent: "build",
    batchId: "msg_1",
    status: "running",
    state: "running.active.working.busy",
    agent: "general",
    description: id,
    directory: "/project",
    startedAt,
    runStartedAt: startedAt,
    usage: { tokens: 10, cost: 0.1 },
    ...given,
  } as ListedTask;
};

const shown = (rows: Row[]) =>
  rows.map((row) =>
    row.kind === "task" ? `${" ".repeat(row.depth)}${row.task.description}` : `${row.kind} ${row.key}`,
  );

test("the newest conversation and batch come first, tasks in the order of their launch", () => {
  const oldest = task("oldest", { parentSessionID: "ses_b" });
  const [one, two, three] = [task("one"), task("two"), task("three", { batchId: "msg_2" })];
  expect(shown(arrange([three, two, one, oldest], new Set()))).toEqual([
    "conversation ses_a",
    "batch ses_a/msg_2",
    "three",
    "batch ses_a/msg_1",
    "one",
    "two",
    "conversation ses_b",
    "batch ses_b/msg_1",
    "oldest",
  ]);
});

test("a task stands below the one that launched it, or in a conversation of its own where that is not shown", () => {
  const [top, child] = [task("top"), task("child", { parentSessionID: "top", parentTaskId: "top", batchId: "msg_9" })];
  const grandchild = task("grandchild", { parentSessionID: "child", parentTaskId: "child" });
  expect(shown(arrange([grandchild, child, top], new Set()))).toEqual([
    "conversation ses_a",
    "batch ses_a/msg_1",
    "top",
    " child",
    "  grandchild",
  ]);
  expect(shown(arrange([grandchild, top], new Set()))).toEqual([
    "conversation child",
    "batch child/msg_1",
    "grandchild",
    "conversation ses_a",
    "batch ses_a/msg_1",
    "top",
  ]);
});

test("sums count every task, and what a task used only once", () => {
  const top = task("top", { usage: { tokens: 100, cost: 1 } });
  const child = task("child", { parentSessionID: "top", parentTaskId: "top", usage: { tokens: 40, cost: 0.4 } });
  const failed = task("failed", { status: "error" });
  const [conversation] = arrange([failed, child, top], new Set());
  expect(conversation?.kind === "conversation" && conversation.counts).toEqual({
    total: 3,
    active: 2,
    waiting: 0,
    failed: 1,
    tokens: 110,
    cost: 1.1,
  });
});

test("what is closed is one row", () => {
  const tasks = [task("two", { batchId: "msg_2" }), task("one")].toReversed();
  expect(shown(arrange(tasks, new Set(["ses_a"])))).toEqual(["conversation ses_a"]);
  expect(shown(arrange(tasks, new Set(["ses_a/msg_1"])))).toContain("two");
  expect(shown(arrange(tasks, new Set(["ses_a/msg_1"])))).not.toContain("one");
});

test("a place in the list leads to its row, at both ends and beyond them", () => {
  const rows = arrange([task("two"), task("one")], new Set());
  const offsets = offsetsOf(rows);
  expect(offsets).toEqual([0, 46, 74, 130, 186]);
  expect([-50, 0, 45, 46, 73, 74, 129, 130, 500].map((y) => rowAt(offsets, y))).toEqual([0, 0, 0, 1, 1, 2, 2, 3, 3]);
  expect(ROW_HEIGHTS.task).toBe(56);
  expect(rowAt(offsetsOf([]), 10)).toBe(0);
});
