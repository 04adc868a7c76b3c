import { describe, expect, test } from "vitest";
import type { ApiTask } from "../../../src/client/api-types.ts";
import { columnsOf } from "../../../src/services/platform/columns.ts";
import { plain, spread } from "../../../src/tui/model/line.ts";
import {
  homeStatusLine,
  panelLines,
  statusLine,
  summarize,
  taskStatusLine,
} from "../../../src/tui/model/panel-lines.ts";
import { ago, asking, ended, NOW, panelTask } from "./panel-tasks.ts";

const COLUMNS = 37;
const lines = (tasks: ApiTask[], key?: string) => panelLines(tasks, { columns: COLUMNS, now: NOW, key });
const panel = (tasks: ApiTask[], key?: string) => lines(tasks, key).map(plain);

const four = [
  panelTask("slow", {
    description: "Find the slow tests",
    startedAt: ago(72),
    lastTools: ["glob", "grep"],
    tokens: 12_340,
    cost: 0.04,
  }),
  panelTask("parent", { description: "Review the migration of the store", waiting: { for: "tasks", since: ago(3) } }),
  asking(panelTask("child", { description: "Apply it to a copy", parentTaskId: "parent", parentSessionID: "parent" })),
  ended(panelTask("log", { description: "Write the changelog" }), "cancelled", 20),
  ended(
    panelTask("broken", {
      description: "Count",
      error: { name: "APIError", kind: "provider", message: "The context window is exceeded" },
    }),
    "error",
    56,
  ),
];

test("what it cost to wake agents stands below what was used", () => {
  const woke = ended(panelTask("a", { tokens: 1_000, cost: 0.5 }), "completed");
  const wakeCosts = { wakes: 2, tokens: 60_000, cachedTokens: 55_000, cost: 0.104 };
  const tasks = [{ ...woke, progress: { ...woke.progress, wakeCosts } }];
  expect(panel(tasks).slice(-2)).toEqual(["$0.50, 1k tokens in all", "2 wakes: $0.10"]);
});

test("the panel shows what waits for a person, what runs, what has ended and why, and the sums", () => {
  expect(panel(four, "ctrl+x k")).toEqual([
    "Tasks                        ctrl+x k",
    "2 running · 1 waits for you",
    "1 failed",
    "▲ Apply it to a copy               1m",
    "  general asks: bash: git push",
    "● Find the slow tests          1m 12s",
    "  general · grep          12.3k $0.04",
    "● Review the migration of the sto… 1m",
    "  general · waits for its tasks",
    "✗ Count                            4s",
    "  The context window is exceeded",
    "⊘ Write the changelog             40s",
    "$0.04, 12.3k tokens in all",
  ]);
});

test("what waits for a person is in the warning colour", () => {
  const warned = lines(four).flatMap(({ segments }) => segments.filter(({ tone }) => tone === "warning"));
  expect(warned.map(({ text }) => text)).toEqual([
    "1 waits for you",
    "▲ ",
    "Apply it to a copy",
    "asks: bash: git push",
  ]);
});

test("a click on a row opens its task", () => {
  expect(lines(four).map(({ taskId }) => taskId)).toContain("child");
  expect(lines(four)[0]?.taskId).toBeUndefined();
});

test("a conversation without tasks has no panel", () => {
  expect(panel([])).toEqual([]);
});

test("tasks below others stand under them", () => {
  const tasks = [
    panelTask("parent"),
    panelTask("child", { parentTaskId: "parent", parentSessionID: "parent", lastTools: ["read"] }),
  ];
  expect(panel(tasks).slice(4, 6)).toEqual(["└ ● about child                    1m", "    general · read"]);
});

test("a task on another server names it, and one that waits for a server counts as queued, without a time", () => {
  const server = { id: "srv_1", label: "desk" };
  const tasks = [
    panelTask("a", { server }),
    panelTask("b", { server, waiting: { for: "server", since: ago(3) } }),
    panelTask("c", { waiting: { for: "fleet", since: ago(3) } }),
  ];
  expect(panel([panelTask("a", { server, lastTools: ["read"] })])[3]).toBe("  general · read on desk");
  expect(panel(tasks)).toEqual([
    "Tasks",
    "1 running · 2 queued",
    "● about a                          1m",
    "  general · on desk",
    "○ about b",
    "  general · waits for a server",
    "○ about c",
    "  general · waits for a server",
  ]);
});

test("where a line has no room for all that was used, what the task does is shown, and the cost if that fits", () => {
  const waiting = (cost: number) => panelTask("a", { waiting: { for: "tasks", since: ago(3) }, tokens: 20_240, cost });
  expect(panel([waiting(0.06)])[3]).toBe("  general · waits for its tasks $0.06");
  expect(panel([waiting(1234)])[3]).toBe("  general · waits for its tasks");
});

test("many tasks are cut to a few, and the others counted", () => {
  const running = Array.from({ length: 11 }, (_, index) => panelTask(`run${index}`));
  const done = Array.from({ length: 9 }, (_, index) => ended(panelTask(`done${index}`), "completed"));
  const shown = panel([...running, ...done]);
  expect(shown).toContain("  … 3 more not ended");
  expect(shown).toContain("  … 6 more ended");
  expect(shown.length).toBeLessThan(30);
});

test.each([
  [{ waiting: { for: "slot", since: ago(4) }, queue: { place: 2 } }, "general · 2nd in the queue"],
  [{ waiting: { for: "slot", since: ago(4) } }, "general · queued"],
  [{ waiting: { for: "recovery", since: ago(4) } }, "general · recovering"],
  [{ waiting: { for: "check", since: ago(4) } }, "general · checking result"],
  [{ waiting: { for: "gate", since: ago(4) } }, "general · running its gate"],
  [{ waiting: { for: "server", since: ago(4) } }, "general · waits for a server"],
  [{ waiting: { for: "provider", since: ago(4) } }, "general · its provider refuses"],
  [{ waiting: { for: "lunch" as "agent", since: ago(4) } }, "general · waits for lunch"],
  [{ waiting: { for: "stop", since: ago(4) } }, "general · stopping"],
  [{ waiting: { for: "person", since: ago(4) } }, "general · blocked by a subtask"],
  [{ attention: { kind: "stale", what: "", since: ago(4) } }, "general · silent"],
  [{}, "general · working"],
] as [Partial<ApiTask>, string][])("a task in %j reads %s", (given, words) => {
  expect(panel([panelTask("a", given)])[3]?.trim()).toBe(words);
});

test("no line is wider than the sidebar, whatever a model has written", () => {
  const wide = "数据库迁移 👩‍👩‍👧‍👦 ".repeat(20);
  const tasks = [
    panelTask("a", { description: wide, agent: "an-agent-with-a-very-long-name-indeed", tokens: 5, cost: 9 }),
    asking(panelTask("b", { description: `\u001b[31mred\n${wide}` }), { what: wide }),
    ended(panelTask("c", { error: { name: "E", kind: "host", message: wide } }), "error"),
  ];
  for (const line of panel(tasks)) expect(columnsOf(line)).toBeLessThanOrEqual(COLUMNS);
  expect(panel(tasks).join("")).not.toContain("\u001b");
});

describe("the line beside the prompt", () => {
  const line = (tasks: ApiTask[]) => plain({ segments: statusLine(summarize(tasks)) });

  test("counts what goes on, and says what it has cost", () => {
    const running = ["a", "b", "c"].map((id) => panelTask(id, { cost: 0.14 }));
    expect(line([...running, asking(panelTask("d"))])).toBe("3 running · 1 waits for you · $0.42");
  });

  test("says tokens where nothing has a price", () => {
    expect(line([panelTask("a", { tokens: 12_340 })])).toBe("1 running · 12.3k tokens");
  });

  test("writes cents, and what costs less than one with more digits", () => {
    expect(line([panelTask("a", { cost: 0.1644 })])).toBe("1 running · $0.16");
    expect(line([panelTask("a", { cost: 0.0042 })])).toBe("1 running · $0.0042");
  });

  test("says in the session of a task which one it is, and the key that leads back", () => {
    const task = panelTask("a", { description: "Think about the design of the store and its file" });
    const inTask = (columns: number, backKey?: string) =>
      plain({ segments: taskStatusLine(summarize([task, panelTask("b")]), { task, backKey, columns }) });
    expect(inTask(90, "ctrl+x j")).toBe("● Think about the design of the s… · ctrl+x j back · 2 running");
    expect(inTask(50, "ctrl+x j")).toBe("● Think about the des… · ctrl+x j back · 2 running");
    expect(inTask(90)).toBe("● Think about the design of the s… · 2 running");
    const segments = taskStatusLine(summarize([]), { task: ended(task, "error"), backKey: "ctrl+x j", columns: 90 });
    expect(plain({ segments })).toBe("✗ Think about the design of the s… · ctrl+x j back");
  });

  test("says on the first screen how to see what goes on", () => {
    expect(plain({ segments: homeStatusLine(summarize([panelTask("a")])) })).toBe("1 running · /tasks");
    expect(homeStatusLine(summarize([]))).toEqual([]);
  });

  test("is empty when nothing goes on", () => {
    expect(line([])).toBe("");
    expect(line([ended(panelTask("a", { cost: 1 }), "completed")])).toBe("");
  });
});

describe("texts in columns", () => {
  test("keep what stands at the edges", () => {
    const segments = spread(
      [{ text: "> ", tone: "text" }],
      { text: "in the middle", tone: "text" },
      [{ text: "9s", tone: "muted" }],
      12,
    );
    expect(plain({ segments })).toBe("> in the… 9s");
  });
});

test("a task that ended without its agent having seen an instruction says so below it", () => {
  const instruction = { text: "only the tests", from: "user" as const, givenAt: ago(20) };
  const missed = { description: "Count", instructions: [{ ...instruction, fate: "missed" as const }] };
  const failed = { ...missed, error: { name: "APIError", kind: "provider" as const, message: "no credit" } };
  const shown = (task: ApiTask) => panel([task]).map((line) => line.trim());
  expect(shown(ended(panelTask("a", missed), "cancelled"))).toContain("1 instruction missed · cancelled");
  expect(shown(ended(panelTask("a", failed), "error"))).toContain("1 instruction missed · no credit");
  const seen = { instructions: [{ ...instruction, fate: "seen" as const }] };
  expect(shown(ended(panelTask("a", seen), "cancelled")).join()).not.toContain("instruction");
});
