import { expect, test } from "vitest";
import { seed } from "../../seed.ts";
import { runRandomFleets } from "./fleet-chaos.ts";

/** Bun and Node run different schedules. `npm run chaos -- --fleet` runs new ones each time. */
const { schedules, RUNS } = process.versions.bun ? { schedules: seed + 1, RUNS: 40 } : { schedules: seed, RUNS: 150 };

test(`whatever happens to the servers of a fleet, each end is delivered once, and nothing is left (seed ${schedules})`, {
  timeout: 600_000,
}, async () => {
  let played = 0;
  const report = await runRandomFleets({
    runs: RUNS,
    seed: schedules,
    onPlayed: () => {
      played += 1;
    },
  });
  expect(report, report).toBeUndefined();
  expect(played).toBe(RUNS);
});
