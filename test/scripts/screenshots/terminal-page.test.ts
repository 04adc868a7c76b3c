import { expect, test } from "vitest";
import { terminalPage } from "../../../scripts/screenshots/terminal-page.ts";

const ESC = "\u001b[";

/** The spans of a page: the text of each, and some of its style. */
const spansOf = (captured: string) =>
  [...terminalPage(captured).matchAll(/<span style="([^"]*)">(.*?)<\/span>/g)].map(([, css = "", text]) => {
    const styles = new Map(css.split(";").map((rule) => rule.split(":") as [string, string]));
    return { text, width: styles.get("width"), color: styles.get("color"), background: styles.get("background"), css };
  });

test("colours are drawn as they are given: by name, from the palette and by their parts", () => {
  const spans = spansOf(`${ESC}31ma${ESC}38;5;208mb${ESC}38;5;244mc${ESC}38;2;1;2;3md${ESC}39me`);
  expect(spans.map(({ color }) => color)).toEqual([
    "#cd0000",
    "rgb(255 135 0)",
    "rgb(128 128 128)",
    "rgb(1 2 3)",
    "#eeeeee",
  ]);
});

test("a style holds until it is taken away, on the next line, too", () => {
  const [first, second, third] = spansOf(`${ESC}1;48;5;16ma\nb${ESC}0mc`);
  expect(first).toMatchObject({ text: "a", background: "rgb(0 0 0)" });
  expect(second).toMatchObject({ text: "b", background: "rgb(0 0 0)" });
  expect(second?.css).toContain("bold");
  expect(third).toMatchObject({ text: "c", background: "#0a0a0a" });
  expect(third?.css).not.toContain("bold");
});

test("inverse text has its two colours the other way round", () => {
  expect(spansOf(`${ESC}7;31;42ma`)).toMatchObject([{ color: "#00cd00", background: "#cd0000" }]);
});

test("each character has the columns that a terminal gives it, and markup is text", () => {
  expect(spansOf("a <b>●漢⚙👍")).toMatchObject([
    { text: "a &#60;b&#62;", width: "5ch" },
    { text: "●", width: "1ch" },
    { text: "漢", width: "2ch" },
    { text: "⚙", width: "1ch" },
    { text: "👍", width: "2ch" },
  ]);
});

test("lines and blocks are drawn, so that they touch", () => {
  const [bar] = spansOf("┃");
  expect(bar).toMatchObject({ text: "", width: "1ch" });
  expect(bar?.background).toContain("linear-gradient");
});
