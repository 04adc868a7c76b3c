import { expect, test } from "vitest";
import type { ApiTask } from "../../../src/client/api-types.ts";
import { summarize } from "../../../src/tui/model/panel-lines.ts";
import { conversationOf, openRequests, rowsOf, tasksOf } from "../../../src/tui/model/tasks.ts";
import { ago, asking, ended, panelTask } from "./panel-tasks.ts";

const byId = (...tasks: ApiTask[]) => new Map(tasks.map((task) => [task.sessionID, task]));
const noHost = () => undefined;
const shown = (tasks: ApiTask[]) => rowsOf(tasks).map(({ task, depth }) => `${"  ".repeat(depth)}${task.sessionID}`);

const parent = panelTask("parent", { startedAt: ago(90) });
const child = panelTask("child", { parentSessionID: "parent", parentTaskId: "parent", startedAt: ago(50) });

test("a conversation is the session in which a person began, above tasks, forks and OpenCode's own subagents", () => {
  const helper: Record<string, string> = { ses_helper: "child" };
  const below = panelTask("below", { parentSessionID: "ses_helper" });
  const tasks = byId(parent, child, below);
  expect(conversationOf("below", tasks, (id) => helper[id])).toBe("ses_root");
  expect(conversationOf("ses_helper", tasks, (id) => helper[id])).toBe("ses_root");
  expect(conversationOf("ses_root", tasks, noHost)).toBe("ses_root");
});

test("sessions above each other in a circle have an end all the same", () => {
  const tasks = byId(panelTask("a", { parentSessionID: "b" }), panelTask("b", { parentSessionID: "a" }));
  expect(["a", "b"]).toContain(conversationOf("a", tasks, noHost));
});

test("the tasks of a conversation are those at any depth, and not those of another one", () => {
  const other = panelTask("other", { parentSessionID: "ses_other" });
  expect(tasksOf("ses_root", byId(child, other, parent), noHost)).toEqual([parent, child]);
});

test("a task that asks comes first, wherever it is; then running ones with those below them, queued ones, ended ones", () => {
  const queued = (id: string, place: number) =>
    panelTask(id, { waiting: { for: "slot", since: ago(9) }, queue: { place }, startedAt: ago(100 - place) });
  const tasks = [
    ended(panelTask("early"), "completed", 30),
    ended(panelTask("late"), "error", 3),
    queued("second", 2),
    queued("first", 1),
    parent,
    child,
    asking(panelTask("deep", { parentTaskId: "child", parentSessionID: "child", startedAt: ago(40) })),
  ];
  expect(shown(tasks)).toEqual(["deep", "parent", "  child", "first", "second", "late", "early"]);
});

test("a request belongs to the task that asks, not to those above it that it holds up", () => {
  const asked = asking(child);
  const above = asking(parent);
  expect(openRequests([above, asked]).map(({ task }) => task.sessionID)).toEqual(["child"]);
  expect(summarize([above, asked])).toMatchObject({ counts: { requests: 1, asking: 1, running: 1 } });
  expect(rowsOf([above, asked]).map(({ task, request }) => [task.sessionID, request?.id])).toEqual([
    ["child", "per_1"],
    ["parent", undefined],
  ]);
});

test("what a task asked is of no interest once it has ended", () => {
  expect(openRequests([ended(asking(child), "cancelled")])).toEqual([]);
});

test("sums count each task once, though the usage of a task includes those below it", () => {
  const tasks = [
    panelTask("a", { tokens: 100, cost: 0.1, usage: { tokens: 150, cost: 0.3 } }),
    panelTask("b", { parentTaskId: "a", parentSessionID: "a", tokens: 50, cost: 0.2 }),
    ended(panelTask("c", { tokens: 7 }), "completed"),
    panelTask("d", { waiting: { for: "slot", since: ago(1) } }),
  ];
  expect(summarize(tasks)).toEqual({
    counts: {
      ...{ requests: 0, asking: 0, running: 2, queued: 1, paused: 0 },
      ...{ completed: 1, failed: 0, cancelled: 0 },
    },
    usage: { tokens: 157, cost: 0.3 },
    wakeCosts: { wakes: 0, tokens: 0, cachedTokens: 0, cost: 0 },
  });
});
