import { expect, test } from "vitest";
import { seed } from "../seed.ts";
import { runRandomSchedules } from "./chaos.ts";

/** Bun and Node run different schedules, together 450. `npm run chaos` runs new ones each time. */
const { schedules, RUNS } = process.versions.bun ? { schedules: seed + 1, RUNS: 150 } : { schedules: seed, RUNS: 300 };

test(`whatever happens, in whatever order, the engine keeps what it promises (seed ${schedules})`, {
  timeout: 600_000,
}, async () => {
  let played = 0;
  const report = await runRandomSchedules({
    runs: RUNS,
    seed: schedules,
    onPlayed: () => {
      played += 1;
    },
  });
  expect(report, report).toBeUndefined();
  expect(played).toBe(RUNS);
});
