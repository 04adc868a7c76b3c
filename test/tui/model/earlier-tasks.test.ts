import { expect, test } from "vitest";
import { plain } from "../../../src/tui/model/line.ts";
import { panelLines } from "../../../src/tui/model/panel-lines.ts";
import { withEarlier } from "../../../src/tui/model/tasks.ts";
import { ended, NOW, panelTask } from "./panel-tasks.ts";

const heard = new Map([["new", panelTask("new", { tokens: 1_000, cost: 0.5 })]]);
const old = (id: string) => ended(panelTask(id, { tokens: 2_000, cost: 0.25 }), "completed", 9_000);

test("what ended long ago counts in the sums of its conversation", () => {
  const tasks = withEarlier(heard, [old("a"), old("b"), old("c"), old("d")], new Set());
  const lines = panelLines([...tasks.values()], { columns: 37, now: NOW }).map(plain);
  expect(lines).toContain("  … 1 more ended");
  expect(lines.at(-1)).toBe("$1.50, 9k tokens in all");
});

test("what is heard of is newer than what was asked for, and a task that was cleared is gone", () => {
  const tasks = withEarlier(heard, [old("new"), old("cleared")], new Set(["cleared"]));
  expect([...tasks.values()]).toEqual([...heard.values()]);
});
