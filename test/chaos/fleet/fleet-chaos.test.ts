import { test } from "vitest";
import { seed } from "../../seed.ts";
import { playAll, playUntil } from "../play-until.ts";
import { runRandomFleets } from "./fleet-chaos.ts";
import { isExpected } from "./situation-names.ts";
import { createFleetSituations } from "./situations.ts";

/** Schedules that are played at least, and that are played at most until each expected situation has occurred. */
const [LEAST, MOST] = [100, 1_500];

/** Bun plays other schedules than Node, and fewer. `npm run chaos -- --fleet` plays new ones each time. */
const ON_BUN = 40;

test.runIf(process.versions.bun)(
  `whatever happens to the servers of a fleet, each end is delivered once, and nothing is left (seed ${seed + 1})`,
  { timeout: 600_000 },
  () => playAll(ON_BUN, seed + 1, runRandomFleets),
);

test.skipIf(process.versions.bun)(
  `whatever happens to the servers of a fleet, each end is delivered once, nothing is left, and each rare situation occurs (seed ${seed})`,
  { timeout: 1_200_000 },
  () => {
    const situations = createFleetSituations();
    const play = (options: { runs: number; seed: number; onPlayed: () => void }) =>
      runRandomFleets({ ...options, situations });
    return playUntil({ seed, least: LEAST, most: MOST, counts: situations.counts, isExpected, play });
  },
);
