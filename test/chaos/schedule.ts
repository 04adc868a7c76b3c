import fc from "fast-check";
import type { Toolset } from "../../src/options.ts";
import type { OnParentCancel } from "../../src/tools/subtasks/toolset.ts";
import { stepsOfOne, stepsOfSeveral } from "./drawn-steps.ts";
import { encounters } from "./encounters.ts";
import { type Limits, limits, USUAL_LIMITS } from "./limits.ts";
import { scene } from "./scenes.ts";
import { sceneOfSeveral } from "./scenes-of-processes.ts";
import type { Step } from "./steps.ts";
import { fromSome, type Kinds } from "./swarm.ts";

/** The steps that happen to an engine, its host and its store, and the settings they start with. */
export interface Schedule {
  store: "memory" | "file";
  /** How many OpenCode processes share the store. Default: 1. */
  processes?: number | undefined;
  recovery: "continue" | "fail";
  /** How many tasks may be at work at once. */
  slots: number;
  /** The tools that agents have. Default: `tasks`. */
  toolset?: Toolset | undefined;
  /** What happens to a subtask when the turn that waits for it is aborted. Default: it is cancelled. */
  onParentCancel?: OnParentCancel | undefined;
  /** Milliseconds that the models of people's sessions take to answer; "told": they answer when a step says so. Default: none. */
  parentsTake?: number | "told" | undefined;
  /** At how many calls to the host and the store each process dies. Default: none does. */
  lifetime?: number | undefined;
  /** What else the options allow. Default: the usual limits. */
  limits?: Limits | undefined;
  steps: Step[];
}

const NO_LIMIT = 10_000;

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

/** Generates schedules. */
export const schedules: fc.Arbitrary<Schedule> = fc.oneof(
  { weight: 4, arbitrary: schedulesOfOne },
  { weight: 5, arbitrary: schedulesOfEncounters },
  { weight: 2, arbitrary: schedulesOfSeveral },
);
