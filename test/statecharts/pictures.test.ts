import { describe, expect, test } from "vitest";
import { arrowsOf } from "../../scripts/statecharts/arrows.ts";
import { shown, statechartFiles } from "../../scripts/statecharts/files.ts";
import { mermaidId } from "../../scripts/statecharts/mermaid.ts";
import { withAllInside } from "../../src/machines/plain-chart.ts";

const files = await statechartFiles();

/** Words that Mermaid reads as its own where an id is expected. */
const RESERVED = new Set(["state", "note", "class", "classDef", "direction", "end", "default", "style"]);

interface Box {
  title: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The outlines of states in an SVG, in its units. */
const boxesIn = (svg: string): Box[] =>
  [...svg.matchAll(/<g [^>]*class="(?:cluster|node)[^>]*>\s*<title>([^<]+)<\/title>(.*?)<\/g>/gs)].flatMap(
    ([, title = "", inside = ""]) => {
      if (title.endsWith(".initial")) return [];
      const outlines = [...inside.matchAll(/ (?:points|d)="([^"]+)"/g)].map(([, points]) => points).join(" ");
      const numbers = [...outlines.matchAll(/-?\d+(?:\.\d+)?/g)].map(Number);
      const xs = numbers.filter((_, at) => at % 2 === 0);
      const ys = numbers.filter((_, at) => at % 2 === 1);
      const box = { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
      return [{ title, ...box }];
    },
  );

const doOverlap = (one: Box, other: Box): boolean =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

describe.for(shown)("the picture of $chart.name", ({ chart }) => {
  const { name } = chart;
  const states = withAllInside(chart).filter(({ path }) => path !== "");
  const arrows = arrowsOf(chart);

  test("has a group for every state, found by its title", () => {
    const titles = [...(files[`${name}.svg`] ?? "").matchAll(/<g [^>]*class="(\w+) [^>]*>\s*<title>([^<]+)<\/title>/g)];
    for (const { path, states: inner } of [chart, ...states]) {
      const kinds = titles.flatMap(([, kind, title]) => (title === (path || name) ? [kind] : []));
      expect(kinds, path).toEqual([inner.length > 0 ? "cluster" : "node"]);
    }
  });

  test("has boxes that lie within each other or beside each other", () => {
    const boxes = boxesIn(files[`${name}.svg`] ?? "").filter(({ title }) => title !== name);
    const overlapping = boxes.flatMap((one, at) =>
      boxes.slice(at + 1).flatMap((other) => {
        const isNested = one.title.startsWith(`${other.title}.`) || other.title.startsWith(`${one.title}.`);
        return !isNested && doOverlap(one, other) ? `${one.title} and ${other.title}` : [];
      }),
    );
    expect(boxes.map(({ title }) => title).toSorted()).toEqual(states.map(({ path }) => path).toSorted());
    expect(overlapping).toEqual([]);
  });

  test("has every arrow, with its events and guards", () => {
    const svg = files[`${name}.svg`] ?? "";
    for (const { source, target, labels } of arrows) {
      const title = `<title>${source || name}&#45;&gt;${target}</title>`;
      const [drawn = ""] = svg.slice(svg.indexOf(title)).split("</g>");
      expect(svg, title).toContain(title);
      for (const { events, guard = "" } of labels) {
        for (const text of [...events, guard]) expect(drawn, title).toContain(text);
      }
    }
  });

  test("has every state in Mermaid, once", () => {
    const declared = [...(files[`${name}.mmd`] ?? "").matchAll(/^ *state "([^"]+)" as (\w+)( \{)?$/gm)];
    const ids = declared.map(([, , id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, name: label, states: inner } of states) {
      const [found] = declared.filter(([, , id]) => id === mermaidId(path));
      expect(found?.[1]?.split("<br/>")[0], path).toBe(label);
      expect(found?.[3] !== undefined, path).toBe(inner.length > 0);
      expect(RESERVED).not.toContain(mermaidId(path));
    }
  });

  test("has every arrow in Mermaid, in words that Mermaid can read", () => {
    const lines = (files[`${name}.mmd`] ?? "").split("\n").map((line) => line.trim());
    const drawn = lines.flatMap((line) => line.match(/^(\w+) --> (\w+): ([^:;"{}#]+)$/) ?? []);
    expect(lines.filter((line) => line.includes("-->") && line.includes(":"))).toHaveLength(arrows.length);
    expect(drawn).toHaveLength(4 * arrows.length);
    for (const { source, target, labels } of arrows) {
      const from = [mermaidId(source), mermaidId(source === "" ? "any" : `${source}.any`)];
      const line = lines.find((text) => from.some((id) => text.startsWith(`${id} --> ${mermaidId(target)}: `)));
      const texts = labels.flatMap(({ events, guard }) => [...events, ...(guard === undefined ? [] : [`[${guard}]`])]);
      for (const text of texts) expect(line, `${source} to ${target}`).toContain(text);
    }
  });
});
