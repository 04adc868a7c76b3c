import { expect, test } from "vitest";
import { seed } from "../seed.ts";
import { runRandomSchedules, runSchedule } from "./chaos.ts";
import { kept } from "./rare-schedules.ts";
import { createSituations, isExpected } from "./sometimes.ts";

/** Schedules that are drawn at least, and that are drawn at most until each expected situation has occurred. */
const [LEAST, MOST] = [600, 6_000];

/** Bun plays other schedules than Node, and fewer. `npm run chaos` plays new ones each time. */
const ON_BUN = 150;

const play = async (runs: number, from: number, situations = createSituations()) => {
  let played = 0;
  const report = await runRandomSchedules({
    runs,
    seed: from,
    situations,
    onPlayed: () => {
      played += 1;
    },
  });
  expect(report, report).toBeUndefined();
  expect(played).toBe(runs);
};

test.runIf(process.versions.bun)(
  `whatever happens, in whatever order, the engine keeps what it promises (seed ${seed + 1})`,
  { timeout: 600_000 },
  () => play(ON_BUN, seed + 1),
);

test.skipIf(process.versions.bun)(
  `whatever happens, in whatever order, the engine keeps what it promises, and each rare situation occurs (seed ${seed})`,
  { timeout: 1_200_000 },
  async () => {
    const situations = createSituations();
    const missing = () =>
      [...situations.counts()].flatMap(([name, count]) => (count === 0 && isExpected(name) ? name : []));
    for (const { schedule } of kept) expect((await runSchedule(schedule, { situations })).faults).toEqual([]);
    let played = 0;
    while (played < LEAST || (missing().length > 0 && played < MOST)) {
      await play(LEAST, seed + played, situations);
      played += LEAST;
    }
    process.stdout.write(
      `${kept.length} kept and ${played} drawn schedules until each of ${[...situations.counts().keys()].filter(isExpected).length} situations had occurred\n`,
    );
    expect(missing(), "what is not come to: npm run chaos -- --reach searches for it").toEqual([]);
  },
);
