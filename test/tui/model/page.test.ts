import { describe, expect, test } from "vitest";
import { columnsOf } from "../../../src/services/platform/columns.ts";
import { plain } from "../../../src/tui/model/line.ts";
import {
  afterPageKey,
  diffLines,
  FIRST,
  type Page,
  type PageState,
  pageLines,
  textLines,
} from "../../../src/tui/model/page.ts";

const press = (names: string[], size = { lines: 30, rows: 10, choices: 2 }) =>
  names.reduce<PageState | "taken" | undefined>(
    (state, name) =>
      typeof state === "object" ? afterPageKey(state, { name, ctrl: false, meta: false }, size) : state,
    FIRST,
  );

describe("the keys of a page", () => {
  test("scroll a text that does not fit, and never beyond its ends", () => {
    expect(press(["down", "j", "k"])).toMatchObject({ top: 1, selected: 0 });
    expect(press(["pagedown"])).toMatchObject({ top: 10 });
    expect(press(["end", "down"])).toMatchObject({ top: 20 });
    expect(press(["end", "home", "up"])).toMatchObject({ top: 0 });
  });

  test("choose sideways; where the text fits, up and down, too", () => {
    expect(press(["right"])).toMatchObject({ selected: 1, top: 0 });
    expect(press(["tab", "tab", "left"])).toMatchObject({ selected: 0 });
    expect(press(["down"], { lines: 3, rows: 10, choices: 2 })).toMatchObject({ selected: 1, top: 0 });
    expect(press(["down", "up"], { lines: 3, rows: 10, choices: 2 })).toMatchObject({ selected: 0 });
  });

  test("take the choice that is selected, which at first is the one that leaves everything as it is", () => {
    expect(FIRST.selected).toBe(0);
    expect(press(["right", "return"])).toBe("taken");
  });

  test("are left to OpenCode where they mean nothing here", () => {
    expect(press(["x"])).toBeUndefined();
    expect(
      afterPageKey(FIRST, { name: "down", ctrl: true, meta: false }, { lines: 9, rows: 1, choices: 2 }),
    ).toBeUndefined();
  });
});

describe("a page", () => {
  const page: Page = { title: "Stop it?", body: () => [], choices: ["Leave it running", "Stop it"] };
  const body = textLines(Array.from({ length: 12 }, (_, index) => `line ${index + 1}`).join("\n"), 40);

  test("shows as much of its text as fits, where that is in the whole, the choices and the keys", () => {
    expect(pageLines(page, body, { top: 2, selected: 0 }, { columns: 60, rows: 3 }).map(plain)).toEqual([
      expect.stringMatching(/^Stop it\? +3–5 of 12$/),
      "",
      ...["line 3", "line 4", "line 5"],
      "",
      "› Leave it running     Stop it   ",
      "↑↓ scroll  ←→ choose  enter take it  esc close",
    ]);
    expect(
      pageLines({ ...page, choices: ["Close"] }, body, FIRST, { columns: 60, rows: 12 })
        .map(plain)
        .at(-1),
    ).toBe("enter take it  esc close");
  });

  test("breaks sentences between words, and cuts code, which keeps its indentation", () => {
    const text = "one two three four\n    <<<<<<< yours and more\n\nlast";
    expect(textLines(text, 12).map(plain)).toEqual(["one two", "three four", "    <<<<<<<…", "", "last"]);
  });

  test("shows a diff file by file, in lines that fit", () => {
    const diff = [
      "diff --git a/a.ts b/b.ts",
      "similarity index 50%",
      "rename from a.ts",
      "rename to b.ts",
      "--- a/a.ts",
      "+++ b/b.ts",
      "@@ -1,2 +1,2 @@",
      "-  const one = 1;",
      `+  const one = "${"x".repeat(100)}";`,
      " same",
      "",
    ].join("\n");
    const lines = diffLines(diff, 30);
    expect(lines.map(plain)).toEqual([
      "",
      "b.ts (renamed from a.ts)",
      "@@ -1,2 +1,2 @@",
      "-  const one = 1;",
      expect.stringMatching(/^\+ {2}const one = "x+…$/),
      " same",
    ]);
    expect(lines.every((line) => columnsOf(plain(line)) <= 30)).toBe(true);
    expect(lines.slice(3).map(({ segments }) => segments[0]?.tone)).toEqual(["error", "success", "text"]);
  });
});
