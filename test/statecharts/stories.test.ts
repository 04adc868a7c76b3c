import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { statechartFiles } from "../../scripts/statecharts/files.ts";
import { MOST } from "../../scripts/statecharts/sheet-svg.ts";
import { journalFile, journalOf, STORIES } from "../../scripts/statecharts/stories.ts";
import { tell, waitOf, wayOf } from "../../scripts/statecharts/told.ts";
import { regionsOf, walk } from "../../src/machines/task/replay.ts";
import { parseExported } from "../../src/services/promises/exported-journal.ts";
import { snapshotDifferences } from "../../src/services/replay/differences.ts";
import { brokenPromises } from "../fakes/broken-promises.ts";

const AGAIN = "the chart does something else: if that is meant, correct the story's way and run `npm run stories`";

const files = await statechartFiles();

describe.for(STORIES.map((story) => ({ ...story, story })))(
  "the story $file",
  ({ file, way, waits = 0, playedBy, story }) => {
    const { origin, events, snapshot } = journalOf(story);
    const { steps, snapshots } = walk(origin, events);
    const svg = files[`stories/${file}.svg`] ?? "";

    test("is replayed by the chart of today, and leads to the same end", () => {
      expect(
        steps.flatMap(({ refused }) => refused ?? []),
        AGAIN,
      ).toEqual([]);
      expect(snapshotDifferences(snapshots.at(-1) ?? snapshots[0], snapshot), AGAIN).toEqual([]);
    });

    test("goes the way that it is told for", () => {
      expect(wayOf(tell(journalOf(story))), AGAIN).toEqual(way);
      expect(waitOf(tell(journalOf(story)))).toBeGreaterThanOrEqual(waits);
    });

    test("keeps every promise, and has no text of anybody and no path", () => {
      const text = readFileSync(journalFile(story), "utf8");
      const read = parseExported(text);
      if ("wrong" in read) throw new Error(read.wrong);
      expect(brokenPromises(read.journal)).toEqual([]);
      expect(read.facts.hasText).toBe(false);
      expect(text).not.toMatch(/[/\\]/);
    });

    test("lights the states of the run in which the replayed task was, and no others", () => {
      const lit = [...svg.matchAll(/<g class="box[^"]* passed" data-state="(run\.\w+)"/g)].map(([, state]) => state);
      const states = snapshots.map((one) => `run.${regionsOf(one).run.split(".")[0]}`);
      expect(new Set(lit)).toEqual(new Set(["run.idle", ...states]));
    });

    test("numbers each of its steps once, and fits into a window in which it is read without scrolling", () => {
      const numbers = [...svg.matchAll(/text-anchor="middle">(\d+)</g)].map(([, number]) => Number(number));
      expect(numbers).toEqual(way.map((_, index) => index + 1));
      const [, width, height] = /^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(svg) ?? [];
      expect(Number(width)).toBeLessThanOrEqual(MOST.width);
      expect(Number(height)).toBeLessThanOrEqual(MOST.height);
    });

    test("links to sheets that are there", () => {
      for (const [, link] of svg.matchAll(/<a href="\.\.\/([^"]+)"/g)) expect(files).toHaveProperty([link ?? ""]);
    });

    test("is played by a test that is there", () => {
      const tests = readFileSync(new URL(`../e2e/${playedBy.file}.test.ts`, import.meta.url), "utf8");
      expect(tests).toContain(`test("${playedBy.test}"`);
    });
  },
);

test("each move from one state of the run to another is lit in a row of its state", () => {
  for (const story of STORIES) {
    const svg = files[`stories/${story.file}.svg`] ?? "";
    const lit = [...svg.matchAll(/class="lit">([\d, ]+): /g)].flatMap(([, numbers = ""]) =>
      numbers.split(", ").map(Number),
    );
    for (const [index, { move }] of tell(journalOf(story)).entries())
      if (move) expect(lit, story.file).toContain(index + 1);
  }
});

test("each fits into a window of 1,280 × 800", () => {
  for (const { file } of STORIES) {
    const [, width, height] = /<svg [^>]*width="(\d+)" height="(\d+)"/.exec(files[`stories/${file}.svg`] ?? "") ?? [];
    expect(Number(width), file).toBeLessThanOrEqual(1_280);
    expect(Number(height), file).toBeLessThanOrEqual(800);
  }
});
