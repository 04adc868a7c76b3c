import { describe, expect, test } from "vitest";
import { plain, wrapped } from "../../../src/tui/model/line.ts";
import { panelLines } from "../../../src/tui/model/panel-lines.ts";
import { announcementOf, otherMachine, otherMachineText } from "../../../src/tui/model/panel-messages.ts";
import { ago, ended, NOW, panelTask } from "./panel-tasks.ts";

describe("what goes on from before", () => {
  const after = NOW - 30_000;
  const before = panelTask("before", { startedAt: ago(60), interruptedAt: ago(20) });

  test("is said with the number of tasks that were interrupted, and go on", () => {
    const other = panelTask("other", { startedAt: ago(90), interruptedAt: ago(29) });
    const done = ended(panelTask("done", { startedAt: ago(90), interruptedAt: ago(10) }), "completed");
    expect(announcementOf({ tasks: [before, other, done], isConversation: true, after })).toEqual({
      message: "2 tasks of this conversation go on. /tasks lists them.",
      upTo: NOW - 20_000,
    });
    expect(announcementOf({ tasks: [before], isConversation: false, after })).toEqual({
      message: "1 task of this directory goes on. /tasks lists it.",
      upTo: NOW - 20_000,
    });
  });

  test("is not said where nothing was interrupted, however old it is, or it is no news", () => {
    const uninterrupted = panelTask("uninterrupted", { startedAt: ago(90) });
    const longAgo = panelTask("long ago", { startedAt: ago(90), interruptedAt: ago(30) });
    for (const tasks of [[], [uninterrupted], [longAgo]]) {
      expect(announcementOf({ tasks, isConversation: true, after })).toBeUndefined();
    }
  });

  test("is said again at the next interruption, with the tasks that it concerns", () => {
    const longAgo = panelTask("long ago", { startedAt: ago(900), interruptedAt: ago(300) });
    const again = panelTask("again", { startedAt: ago(900), interruptedAt: ago(5) });
    const first = announcementOf({ tasks: [longAgo], isConversation: true, after: NOW - 600_000 });
    expect(first?.message).toContain("1 task");
    expect(
      announcementOf({ tasks: [longAgo, again], isConversation: true, after: first?.upTo ?? 0 })?.message,
    ).toContain("1 task of this conversation goes on.");
  });
});

describe("the machine that tasks run on", () => {
  const own = new Set(["workstation", "192.168.1.7", "fd00::7"]);

  test.each([
    "http://opencode.internal",
    "http://localhost:4096",
    "http://127.0.0.1:4096",
    "http://[::1]:4096",
    "http://Workstation:4096",
    "http://192.168.1.7:4096",
    "http://[fd00::7]:4096",
    "no address",
    undefined,
  ])("is this one at %s", (url) => {
    expect(otherMachine(url, own)).toBeUndefined();
  });

  test.each([
    ["https://build.example:4096", "build.example"],
    ["http://192.168.1.8", "192.168.1.8"],
  ])("is another one at %s", (url, name) => {
    expect(otherMachine(url, own)).toBe(name);
  });
});

describe("a panel without news", () => {
  const layout = { columns: 37, now: NOW };

  test("says so above the tasks as they were last heard of", () => {
    const problem = "Out of date. OpenCode does not answer: it is stopped or busy.";
    const lines = panelLines([panelTask("a")], { ...layout, problem });
    expect(lines[2]?.segments).toEqual([{ text: "Out of date. OpenCode does not", tone: "warning" }]);
    expect(lines.map(plain).slice(3, 5)).toEqual([
      "answer: it is stopped or busy.",
      "● about a                          1m",
    ]);
  });

  test("says that tasks run on another machine, and shows none of this one", () => {
    const unreachable = otherMachineText("build.example");
    expect(panelLines([panelTask("a")], { ...layout, unreachable }).map(plain)).toEqual([
      "Tasks",
      "Tasks run on another machine; the",
      "panel on this one does not reach",
      "them. On build.example,",
      "opencode-taskchart list shows them.",
    ]);
  });

  test("breaks lines between words, and cuts a word that is longer", () => {
    expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapped("incomprehensibilities are", 6)).toEqual(["incom…", "are"]);
    expect(wrapped("one two three four five", 7, 2)).toEqual(["one two", "three…"]);
  });
});
