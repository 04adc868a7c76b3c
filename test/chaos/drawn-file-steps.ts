import fc from "fast-check";
import { stepsOfSeveral } from "./drawn-steps.ts";
import { answered, launched, MOMENT, NEWEST, pass, WHILE } from "./scene-words.ts";
import { sceneOfSeveral } from "./scenes-of-processes.ts";
import type { Step } from "./steps.ts";
import type { Kinds } from "./swarm.ts";

/** Draws how many milliseconds a machine's clock is off. */
export const clockOff = fc.constantFrom(0, 0, 5_000, -5_000, 40_000, -40_000, 600_000, -600_000);

/** Milliseconds for which a file is locked: less than a write is tried again, longer than a heartbeat, and than a lease. */
const locked = fc.constantFrom(300, 2_500, 8_000, 25_000);

/** Milliseconds by which a clock is set: by a time server, which corrects it, or by a person. */
const setBy = fc.constantFrom(-1_500, -1_500, 2_000, -20_000, 20_000, -3_600_000, 3_600_000);

/** The steps of one of several processes that each have a connection of their own to a file. */
export const stepsOfFiles: Kinds<Step> = {
  needed: [
    ...stepsOfSeveral.needed,
    [
      6,
      fc.record({
        do: fc.constant("lockFile" as const),
        after: fc.constantFrom(0, 1, 1, 2, 3, 5, 9),
        ms: locked,
      }),
    ],
  ],
  optional: [
    ...stepsOfSeveral.optional,
    [5, fc.record({ do: fc.constant("fillDisk" as const), ms: locked })],
    [3, fc.constant({ do: "checkpoint" as const })],
    [5, fc.record({ do: fc.constant("setClock" as const), ms: setBy })],
  ],
};

/** The clock is set while a result is on its way to the parent. */
const setWhileDelivering = fc
  .record({ ms: setBy, is: fc.constantFrom("lateThere" as const, "lateBack" as const, "unavailable" as const) })
  .map(({ ms, is }): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "strike", call: "prompt", is, ms: 3_000, times: 1 },
    answered(NEWEST),
    pass(60),
    { do: "setClock", ms },
    pass(WHILE),
  ]);

/** A process starts while the file is locked, and works. */
const startedWhileLocked = locked.map((ms): Step[] => [
  { do: "lockFile", after: 0, ms },
  { do: "crash", down: 0 },
  launched(),
  pass(MOMENT),
  answered(NEWEST),
  pass(WHILE),
]);

/** The disk is full when tasks are launched, and end. */
const workedWhileFull = fc
  .record({ ms: locked, launches: fc.integer({ min: 1, max: 4 }) })
  .map(({ ms, launches }): Step[] => [
    { do: "fillDisk", ms },
    ...Array.from({ length: launches }, () => launched()),
    pass(MOMENT),
    answered(NEWEST),
    pass(WHILE),
  ]);

/** Draws a scene of several processes with a file and clocks of their own. */
export const sceneOfFiles: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 2, arbitrary: sceneOfSeveral },
  setWhileDelivering,
  startedWhileLocked,
  workedWhileFull,
);
