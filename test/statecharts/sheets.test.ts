import { describe, expect, test } from "vitest";
import { shown, statechartFiles } from "../../scripts/statecharts/files.ts";
import { MOST } from "../../scripts/statecharts/sheet-svg.ts";
import { withAllInside } from "../../src/machines/plain-chart.ts";
import { type Sheet, sheetsOf } from "../../src/machines/sheets.ts";

const files = await statechartFiles();
const svgOf = ({ file }: Sheet): string => files[`sheets/${file}.svg`] ?? "";

describe.for(shown)("the sheets of $chart.name", ({ chart, words }) => {
  const sheets = sheetsOf(chart, words);
  const boxes = sheets.flatMap((sheet) => sheet.boxes);

  test("show every state once, and all that are inside it on a sheet of its own", () => {
    const states = withAllInside(chart).filter(({ path }) => path !== "");
    expect(boxes.flatMap(({ path }) => path ?? []).toSorted()).toEqual(states.map(({ path }) => path).toSorted());
    const withInside = states.filter((state) => state.states.length > 0);
    expect(boxes.flatMap(({ file }) => file ?? []).toSorted()).toEqual(
      withInside.map(({ path }) => `${chart.name}.${path}`).toSorted(),
    );
  });

  test("show every transition once in full", () => {
    const transitions = withAllInside(chart).flatMap((state) => state.transitions);
    const drawn = boxes.flatMap(({ rows }) => rows.flatMap((row) => row.transitions));
    expect(drawn).toHaveLength(transitions.length);
    expect(new Set(drawn)).toEqual(new Set(transitions));
  });

  test("name at each row the transitions by which it is taken, so that the way of an actor can be shown", () => {
    const named = (rows: { through: string[] }[]) => rows.flatMap(({ through }) => through).toSorted();
    const transitions = withAllInside(chart).flatMap((state) => state.transitions.map(({ name }) => name));
    const inFull = boxes.flatMap(({ rows }) => rows.filter((row) => row.transitions.length > 0));
    expect(named(inFull)).toEqual(transitions.toSorted());
    for (const sheet of sheets)
      for (const { through } of sheet.boxes.flatMap(({ rows }) => rows))
        expect(svgOf(sheet)).toContain(`data-through="${through.join(" ")}"`);
  });

  test("name every event and effect in words, and no guard by its name in the code", () => {
    const conditions = boxes.flatMap(({ rows }) => rows.flatMap(({ condition }) => condition ?? []));
    for (const condition of conditions) expect(condition).toMatch(/^(if|unless|otherwise)\b[^#[\]]*$/);
    for (const name of conditions.flatMap((condition) => condition.split(/[ ,]+/)))
      expect(name).not.toMatch(/^[a-z]+[A-Z]/);
    for (const { rows, effects } of boxes)
      for (const text of [...effects, ...rows.flatMap((row) => row.effects)]) expect(text).toMatch(/^[A-Z].*\.$/);
  });

  test.for(sheets)(
    "$file fits into a window in which it is read without scrolling, and has twelve boxes at most",
    (sheet) => {
      const [, width, height] = /^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(svgOf(sheet)) ?? [];
      expect(Number(width)).toBeLessThanOrEqual(MOST.width);
      expect(Number(height)).toBeLessThanOrEqual(MOST.height);
      expect(sheet.boxes.length).toBeLessThanOrEqual(12);
    },
  );

  test("link to sheets that are there", () => {
    for (const sheet of sheets)
      for (const [, link] of svgOf(sheet).matchAll(/<a href="([^"]+)"/g))
        expect(files).toHaveProperty([`sheets/${link}`]);
  });
});

test("the life of a task has all states of a run, and no conditions", () => {
  const svg = files["sheets/life-of-a-task.svg"] ?? "";
  for (const state of ["idle", "queued", "active", "pausing", "fleet", "stopping"])
    expect(svg).toContain(`data-state="run.${state}"`);
  expect(svg).not.toContain('class="if"');
  for (const [, link] of svg.matchAll(/<a href="([^"]+)"/g)) expect(files).toHaveProperty([`sheets/${link}`]);
});
