import fc from "fast-check";
import type { Toolset } from "../../src/options.ts";
import type { OnParentCancel } from "../../src/tools/subtasks/subtasks-toolset.ts";
import { changed } from "./changed-schedule.ts";
import { clockOff, sceneOfFiles, stepsOfFiles } from "./drawn-file-steps.ts";
import { stepsOfOne, stepsOfSeveral } from "./drawn-steps.ts";
import { encounters } from "./encounters.ts";
import { limits, USUAL_LIMITS } from "./limits.ts";
import { kept } from "./rare-schedules.ts";
import { scene } from "./scenes.ts";
import { sceneOfSeveral } from "./scenes-of-processes.ts";
import type { Schedule } from "./schedule.ts";
import type { Step } from "./steps.ts";
import { fromSome, type Kinds } from "./swarm.ts";

const NO_LIMIT = 10_000;

/** Milliseconds: longer than any schedule. */
const NEVER = 1_000_000_000;

/** Which tools the agents of a schedule have: mostly the default. */
const tools = {
  toolset: fc.constantFrom<Toolset | undefined>(...Array(3).fill(undefined), "elisha", "subtasks"),
  onParentCancel: fc.constantFrom<OnParentCancel>("cancel", "detach"),
};

/** How long the models of people's sessions take: less than a notice is looked for, longer, or as long as a step says. */
const parentsTake = fc.constantFrom<Schedule["parentsTake"]>(undefined, undefined, 600, 5_000, "told");

/** Draws so many parts of a schedule, of which about one of `every` is a scene, for that takes longer than a step. */
const steps = (
  kinds: Kinds<Step>,
  scenes: fc.Arbitrary<Step[]>,
  { every, maxLength }: { every: number; maxLength: number },
): fc.Arbitrary<Step[]> =>
  fromSome(kinds, (step) => {
    const part = fc.oneof(
      { weight: every - 1, arbitrary: step.map((only) => [only]) },
      { weight: 1, arbitrary: scenes },
    );
    return fc.array(part, { minLength: 1, maxLength, size: "max" }).map((parts) => parts.flat());
  });

/** Generates schedules of one process, most of them for the fast store. */
export const schedulesOfOne: fc.Arbitrary<Schedule> = fc.record({
  store: fc.oneof(
    { weight: 19, arbitrary: fc.constant("memory" as const) },
    { weight: 1, arbitrary: fc.constant("file" as const) },
  ),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constantFrom(10, 2, 1),
  ...tools,
  parentsTake,
  lifetime: fc.constantFrom(undefined, undefined, undefined, 15, 30, 60),
  limits: fc.option(limits, { nil: undefined, freq: 3 }),
  steps: steps(stepsOfOne, scene, { every: 15, maxLength: 17 }),
});

/** Generates schedules of one process in which something happens to a run or a delivery in a certain state. */
export const schedulesOfEncounters: fc.Arbitrary<Schedule> = fc.record({
  store: fc.constant("memory" as const),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constantFrom(10, 10, 2),
  parentsTake,
  limits: fc.option(limits, { nil: undefined, freq: 2 }),
  steps: encounters,
});

/** Generates schedules of several processes that share a store. Each knows what its own sessions use: that is not limited. */
export const schedulesOfSeveral: fc.Arbitrary<Schedule> = fc.record({
  store: fc.constant("memory" as const),
  processes: fc.constantFrom(2, 2, 3),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constantFrom(NO_LIMIT, NO_LIMIT, NO_LIMIT, 1, 2, 3),
  ...tools,
  parentsTake,
  lifetime: fc.constantFrom(undefined, undefined, undefined, 30, 60),
  limits: fc.constant({ ...USUAL_LIMITS, toolCalls: NO_LIMIT, repeat: NO_LIMIT }),
  steps: steps(stepsOfSeveral, sceneOfSeveral, { every: 12, maxLength: 26 }),
});

/**
 * Generates schedules of several processes that each have a connection of their own to a file, and clocks that may be wrong.
 * While a file cannot be written, slots are those of each process alone: they are not limited here.
 */
export const schedulesOfFiles: fc.Arbitrary<Schedule> = fc.record({
  store: fc.constant("file" as const),
  processes: fc.constantFrom(2, 2, 3),
  clocksOff: fc.option(fc.array(clockOff, { minLength: 3, maxLength: 3 }), { nil: undefined }),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constant(NO_LIMIT),
  parentsTake,
  lifetime: fc.constantFrom(undefined, undefined, undefined, 60),
  // Silence is measured by clocks that are wrong here.
  limits: fc.constant({ ...USUAL_LIMITS, toolCalls: NO_LIMIT, repeat: NO_LIMIT, stale: NEVER }),
  steps: steps(stepsOfFiles, sceneOfFiles, { every: 9, maxLength: 26 }),
});

/** Generates schedules that differ in a few steps from one that comes to something rare. */
export const schedulesLikeRareOnes: fc.Arbitrary<Schedule> = fc
  .tuple(fc.constantFrom(...kept), fc.constantFrom(...kept))
  .chain(([one, other]) => changed(one.schedule, other.schedule));

/** Generates schedules that owe nothing to those that were kept. */
export const newSchedules: fc.Arbitrary<Schedule> = fc.oneof(
  { weight: 5, arbitrary: schedulesOfOne },
  { weight: 5, arbitrary: schedulesOfEncounters },
  { weight: 2, arbitrary: schedulesOfSeveral },
  { weight: 2, arbitrary: schedulesOfFiles },
);

/** Generates schedules: one in ten is of files. */
export const schedules: fc.Arbitrary<Schedule> = fc.oneof(
  { weight: 5, arbitrary: newSchedules },
  { weight: 2, arbitrary: schedulesLikeRareOnes },
);
