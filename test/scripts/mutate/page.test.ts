import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { areas } from "../../../scripts/mutate/areas.ts";
import { readMeasured } from "../../../scripts/mutate/measured.ts";
import { withResults } from "../../../scripts/mutate/page.ts";

const page = readFileSync("docs/mutation.md", "utf8");
test("docs/mutation.md lists what survived, and the changes that are known to be no mistakes: --write puts them there", () => {
  expect(withResults(page, areas, new Map(), readMeasured())).toBe(page);
});

test("the page is the same whichever file was measured last", () => {
  const turned = Object.fromEntries(Object.entries(readMeasured()).toReversed());
  expect(withResults(page, areas, new Map(), turned)).toBe(page);
});
