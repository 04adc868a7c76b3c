import fc from "fast-check";
import { answered, launched, MOMENT, NEWEST, pass, SECOND_NEWEST, summedUp, WHILE } from "./scene-words.ts";
import type { Step } from "./steps.ts";

/** Milliseconds, longer than the shorter limits of a run's time. */
const LONGER_THAN_A_RUN = 30_000;

/** A task has a task of its own. */
const launchedWithOneBelow: Step[] = [launched(), pass(MOMENT), { do: "launchBelow", task: NEWEST }, pass(MOMENT)];

const dawdling = fc
  .record({ begins: fc.constantFrom("tool", "question", "nothing"), isSummedUp: fc.boolean() })
  .map(({ begins, isSummedUp }): Step[] => [
    launched(),
    pass(MOMENT),
    ...(isSummedUp ? [summedUp] : []),
    { do: "dawdle", task: NEWEST, begins },
  ]);

/** A task is silent for so long that it is stale, and shows a sign of life. */
const heardAgain = fc
  .constantFrom([30_000, 8_000], [700_000, 200_000])
  .map(([silent = 0, heard = 0]): Step[] => [
    launched(),
    pass(silent),
    { do: "spend", task: NEWEST, tokens: 10, cost: 0 },
    pass(heard),
  ]);

/** The machine sleeps while a task is at work: nothing could be heard of it meanwhile. */
const asleep = fc
  .constantFrom(MOMENT, WHILE)
  .map((ms): Step[] => [launched(), pass(MOMENT), { do: "pause", ms: 20_000 }, pass(ms)]);

/** A task that has ended counts for the one above it still: after a crash, and in its next run. */
const usedBelow = fc
  .record({ times: fc.constantFrom(1, 3), resumes: fc.boolean() })
  .map(({ times, resumes }): Step[] => [
    ...launchedWithOneBelow,
    { do: "callTools", task: NEWEST, times, same: false },
    answered(NEWEST),
    pass(WHILE),
    ...(resumes ? [answered(NEWEST), pass(WHILE), { do: "resume", task: SECOND_NEWEST } as const] : []),
    ...(resumes ? [] : [{ do: "crash", down: 0 } as const]),
    pass(WHILE),
    { do: "overspend", task: NEWEST },
  ]);

/** A task takes long, and a tool runs in the one below it. */
const busyBelow = fc
  .constantFrom(LONGER_THAN_A_RUN, 2 * LONGER_THAN_A_RUN)
  .map((ms): Step[] => [...launchedWithOneBelow, { do: "runTool", task: NEWEST, ms }, pass(LONGER_THAN_A_RUN)]);

/** The scenes about limits and about the time of runs. */
export const scenesOfLimits: fc.Arbitrary<Step[]>[] = [dawdling, heardAgain, asleep, usedBelow, busyBelow];
