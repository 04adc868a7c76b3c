import { expect, test } from "vitest";
import { seed } from "../seed.ts";
import { chaos } from "./chaos.ts";

/** With those on the other runtime, 2,250 in each run of the tests. */
const RUNS = process.versions.bun ? 250 : 2_000;

test(`whatever happens, in whatever order, the engine keeps what it promises (seed ${seed})`, {
  timeout: 180_000,
}, async () => {
  let played = 0;
  const report = await chaos({
    runs: RUNS,
    seed,
    onPlayed: () => {
      played += 1;
    },
  });
  expect(report, report).toBeUndefined();
  expect(played).toBe(RUNS);
});
