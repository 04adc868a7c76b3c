import { expect, test } from "vitest";
import { seed } from "../seed.ts";
import { runRandomSchedules, runSchedule } from "./chaos.ts";
import { playAll, playUntil } from "./play-until.ts";
import { kept } from "./rare-schedules.ts";
import { createSituations, isExpected } from "./sometimes.ts";

/** Schedules that are drawn at least, and that are drawn at most until each expected situation has occurred. */
const [LEAST, MOST] = [200, 6_000];

/** Bun plays other schedules than Node, and fewer. `npm run chaos` plays new ones each time. */
const ON_BUN = 150;

test.runIf(process.versions.bun)(
  `whatever happens, in whatever order, the engine keeps what it promises (seed ${seed + 1})`,
  { timeout: 600_000 },
  () => playAll(ON_BUN, seed + 1, runRandomSchedules),
);

test.skipIf(process.versions.bun)(
  `whatever happens, in whatever order, the engine keeps what it promises, and each rare situation occurs (seed ${seed})`,
  { timeout: 1_200_000 },
  async () => {
    const situations = createSituations();
    for (const { schedule } of kept) expect((await runSchedule(schedule, { situations })).faults).toEqual([]);
    const play = (options: { runs: number; seed: number; onPlayed: () => void }) =>
      runRandomSchedules({ ...options, situations });
    await playUntil({ seed, least: LEAST, most: MOST, counts: situations.counts, isExpected, play });
  },
);
