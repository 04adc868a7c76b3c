import { describe, expect, test } from "vitest";
import type { ApiTask } from "../../../src/client/api-types.ts";
import { columnsOf } from "../../../src/services/platform/columns.ts";
import { plain } from "../../../src/tui/model/line.ts";
import { type ListLayout, listLines, listRows } from "../../../src/tui/model/list-lines.ts";
import {
  afterKey,
  INITIAL,
  type Key,
  type KeyResult,
  type ListState,
  placeOf,
} from "../../../src/tui/model/list-state.ts";
import { ago, asking, ended, NOW, panelTask } from "./panel-tasks.ts";

const key = (name: string, more: Partial<Key> = {}): Key => ({
  name,
  sequence: name.length === 1 ? name : "",
  ctrl: false,
  meta: false,
  ...more,
});

const ids = ["a", "b", "c"];

/** What follows from keys that are pressed one after the other. */
const pressed = (keys: (string | Key)[], from: ListState = INITIAL): KeyResult & { isUsed: boolean } =>
  keys.reduce<KeyResult & { isUsed: boolean }>(
    ({ state }, next) => {
      const result = afterKey(state, typeof next === "string" ? key(next) : next, ids);
      return { state, ...result, isUsed: result !== undefined };
    },
    { state: from, isUsed: true },
  );

describe("the keys of the list", () => {
  test("move the selection, and never beyond the ends", () => {
    expect(pressed(["down"]).state.selected).toBe("b");
    expect(pressed(["j", "j", "j", "k"]).state.selected).toBe("b");
    expect(pressed(["end", "down"]).state.selected).toBe("c");
    expect(pressed(["pagedown", "up"]).state.selected).toBe("b");
    expect(pressed(["end", "home", "up"]).state.selected).toBe("a");
  });

  test.each([
    ["return", "open"],
    ["x", "stop"],
    ["r", "resume"],
    ["s", "steer"],
    ["z", "pause"],
    ["a", "answer"],
    ["w", "why"],
    ["b", "back"],
  ])("%s means %s", (name, action) => {
    expect(pressed([name])).toMatchObject({ action, isUsed: true });
  });

  test("mark tasks and take marks away, one and then the next, or all that are shown", () => {
    const marks = (keys: (string | Key)[]) => [...pressed(keys).state.marked];
    const star = key("*", { sequence: "*" });
    expect(marks(["space", "space"])).toEqual(["a", "b"]);
    expect(pressed(["space", "space"]).state.selected).toBe("c");
    expect(marks(["space", "up", "space"])).toEqual([]);
    expect(marks([star])).toEqual(ids);
    expect(marks(["space", star])).toEqual(ids);
    expect(marks([star, star])).toEqual([]);
    expect(marks(["space", "/", "q", "return"])).toEqual(["a"]);
  });

  test("are letters of the search after a slash, until enter or the last backspace", () => {
    expect(pressed(["/", "x", "r"])).toMatchObject({ state: { query: "xr", isSearching: true }, isUsed: true });
    expect(pressed(["/", "j", "k"]).state).toMatchObject({ query: "jk", selected: undefined });
    expect(pressed(["/", "x", "r"]).action).toBeUndefined();
    const found = pressed(["/", "x", "return"]);
    expect(found).toMatchObject({ state: { query: "x", isSearching: false } });
    expect(found.action).toBeUndefined();
    expect(pressed(["x"], found.state).action).toBe("stop");
    expect(pressed(["/", "x", "backspace", "backspace"]).state).toMatchObject({ query: "", isSearching: false });
  });

  test("take characters of any alphabet into the search, and no control characters", () => {
    const state = pressed([
      "/",
      key("", { sequence: "é" }),
      key("", { sequence: "数" }),
      key("", { sequence: "\u0001" }),
    ]).state;
    expect(state.query).toBe("é数");
  });

  test("are left to OpenCode where they mean nothing here, or come with control or meta", () => {
    expect(pressed([key("x", { ctrl: true })])).toMatchObject({ isUsed: false });
    expect(pressed([key("x", { meta: true })]).action).toBeUndefined();
    expect(pressed(["f5"])).toMatchObject({ isUsed: false });
  });

  test("are about the first task where the selected one is not shown any more, or nothing is", () => {
    expect(placeOf({ ...INITIAL, selected: "gone" }, ids)).toBe(0);
    expect(afterKey(INITIAL, key("down"), [])?.state.selected).toBeUndefined();
  });
});

describe("the list", () => {
  const here = [
    panelTask("slow", { description: "Find the slow tests", startedAt: ago(72), lastTools: ["grep"], cost: 0.04 }),
    asking(panelTask("child", { description: "Apply it to a copy" })),
    ended(panelTask("log", { description: "Write the changelog", agent: "writer" }), "completed", 20),
  ];
  const elsewhere = [panelTask("far", { parentSessionID: "ses_other", description: "Another conversation's" })];
  const layout = { columns: 84, rows: 10, now: NOW, marked: [] as ApiTask[] };
  const listed = (
    state: ListState = INITIAL,
    more: Partial<typeof layout & Pick<ListLayout, "problem" | "fleet">> = {},
    tasks: ApiTask[] = here,
  ) => listLines(listRows({ here: tasks, elsewhere }, state), state, { ...layout, ...more }).map(plain);

  test("has this conversation's tasks first, then those of others, and the keys for the selected one", () => {
    const lines = listed({ ...INITIAL, selected: "slow" });
    expect(lines[0]).toMatch(/^Tasks +2 running · 1 waits for you$/);
    expect(lines.slice(3)).toEqual([
      "  ▲ Apply it to a copy                general · asks: bash: git push     1m         ",
      "› ● Find the slow tests               general · grep                 1m 12s    $0.04",
      "  ✓ Write the changelog               writer · completed                40s         ",
      "Other conversations",
      "  ● Another conversation's            general · working                  1m         ",
      "",
      "enter open  x stop  w why",
      "space mark  * mark all  / search  b back  esc close",
    ]);
  });

  test("shows which tasks are marked, how many, also of those that are not shown, and the keys for them", () => {
    const [slow, child, log] = here as [ApiTask, ApiTask, ApiTask];
    const lines = listed({ ...INITIAL, query: "slow" }, { marked: [slow, log] });
    expect(lines[0]).toMatch(/^Tasks · 2 marked +1 running/);
    expect(lines.slice(3, 4)).toEqual([expect.stringMatching(/^› ◆ ● Find the slow tests/)]);
    expect(lines.at(-2)).toBe("x stop");
    expect(listed(INITIAL, { marked: [slow] }).slice(3, 5)).toEqual([
      expect.stringMatching(/^› {3}▲ Apply it to a copy/),
      expect.stringMatching(/^ {2}◆ ● Find the slow tests/),
    ]);
    expect(child.description).toBe("Apply it to a copy");
  });

  test("says below the tasks which servers the fleet has, and how many tasks wait for one", () => {
    const projects = [{ project: "shop", slots: 4, atWork: 1, version: "0.1.0" }];
    const fleet = {
      ...{ isUsed: true, isReached: true, isCut: false, tasks: { waiting: 2, elsewhere: 0 } },
      servers: [{ id: "srv_1", label: "desk", projects }],
    };
    const lines = listed(INITIAL, { fleet });
    expect(lines.slice(-4, -1)).toEqual([
      "",
      "Fleet: 1 server, 1 of 4 slots taken, 2 tasks wait",
      expect.stringContaining("enter open"),
    ]);
  });

  test("has no heading where no conversation is shown", () => {
    expect(listed(INITIAL, {}, [])).not.toContain("Other conversations");
  });

  test("leaves a description all the room that what the tasks do does not need", () => {
    const tasks = [panelTask("a", { description: "Find all of the tests that take longer than a second" })];
    expect(listed(INITIAL, {}, tasks)[3]).toContain("Find all of the tests that take longer than a… ");
    const asks = asking(panelTask("b"), { what: "bash: a command that is longer than two fifths of the line" });
    expect(listed(INITIAL, {}, [...tasks, asks])[4]).toContain("Find all of the tests that ta… ");
  });

  test("offers what the task allows", () => {
    const able = panelTask("able", { allowed: ["STEER", "CANCEL"] });
    expect(listed(INITIAL, {}, [able]).at(-2)).toContain("s steer");
    expect(listed({ ...INITIAL, selected: "child" }).at(-2)).toContain("a answer");
    const done = ended(panelTask("done", { allowed: ["RESUME"] }), "completed");
    const keys = listed({ ...INITIAL, selected: "done" }, {}, [done]).at(-2);
    expect(keys).toContain("r resume");
    expect(keys).not.toContain("x stop");
  });

  test("is searched by description, agent and status, whatever the case", () => {
    const found = (query: string) =>
      listRows({ here, elsewhere }, { ...INITIAL, query }).map(({ task }) => task.sessionID);
    expect(found("CHANGELOG")).toEqual(["log"]);
    expect(found("writer")).toEqual(["log"]);
    expect(found("completed")).toEqual(["log"]);
    expect(listed({ ...INITIAL, query: "nothing like it" })).toContain("No task matches.");
  });

  test("shows those around the selected one where there are more than fit", () => {
    const many = Array.from({ length: 30 }, (_, index) => panelTask(`t${String(index).padStart(2, "0")}`));
    const lines = listed({ ...INITIAL, selected: "t20" }, { rows: 5 }, many);
    expect(lines.filter((line) => line.includes("● about t"))).toHaveLength(5);
    expect(lines.some((line) => line.startsWith("› ● about t20"))).toBe(true);
    expect(lines).toContain("  21 of 31");
  });

  test("says when it may be out of date", () => {
    expect(listed(INITIAL, { problem: "OpenCode does not answer." })).toContain("OpenCode does not answer.");
  });

  test.each([54, 72, 84])("fits into %i columns", (columns) => {
    for (const line of listed(INITIAL, { columns })) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
  });
});
