import fc from "fast-check";
import type { Toolset } from "../../src/options.ts";
import type { OnParentCancel } from "../../src/tools/subtasks/toolset.ts";
import { type Limits, limits, USUAL_LIMITS } from "./limits.ts";
import { scene, stoppedAtWork } from "./scenes.ts";
import { type Step, step, stepOfSeveral } from "./steps.ts";

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
  /** At how many calls to the host and the store each process dies. Default: none does. */
  lifetime?: number | undefined;
  /** What else the options allow. Default: the usual limits. */
  limits?: Limits | undefined;
  steps: Step[];
}

const NO_LIMIT = 10_000;

/** Which tools the agents of a schedule have: in most, the default. */
const tools = {
  toolset: fc.constantFrom<Toolset | undefined>(...Array(6).fill(undefined), "elisha", "subtasks"),
  onParentCancel: fc.constantFrom<OnParentCancel>("cancel", "detach"),
};

/** A scene takes longer than a step: of thirty parts of a schedule, about one is one. */
const stepOrScene = fc.oneof({ weight: 29, arbitrary: step.map((only) => [only]) }, { weight: 1, arbitrary: scene });

/** Generates schedules of one process, most of them for the fast store. */
export const schedulesOfOne: fc.Arbitrary<Schedule> = fc.record({
  store: fc.oneof(
    { weight: 19, arbitrary: fc.constant("memory" as const) },
    { weight: 1, arbitrary: fc.constant("file" as const) },
  ),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constantFrom(10, 2, 1),
  ...tools,
  lifetime: fc.constantFrom(undefined, undefined, undefined, 15, 30, 60),
  limits: fc.option(limits, { nil: undefined, freq: 2 }),
  steps: fc.array(stepOrScene, { minLength: 1, maxLength: 20, size: "max" }).map((parts) => parts.flat()),
});

const stepOfSeveralOrScene = fc.oneof(
  { weight: 19, arbitrary: stepOfSeveral.map((only) => [only]) },
  { weight: 1, arbitrary: stoppedAtWork },
);

/** Generates schedules of several processes that share a store. Each knows what its own sessions use: there are no limits. */
export const schedulesOfSeveral: fc.Arbitrary<Schedule> = fc.record({
  store: fc.constant("memory" as const),
  processes: fc.constantFrom(2, 2, 3),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constant(NO_LIMIT),
  ...tools,
  lifetime: fc.constantFrom(undefined, undefined, undefined, 30, 60),
  limits: fc.constant({ ...USUAL_LIMITS, toolCalls: NO_LIMIT, repeat: NO_LIMIT }),
  steps: fc.array(stepOfSeveralOrScene, { minLength: 1, maxLength: 30, size: "max" }).map((parts) => parts.flat()),
});

/** Generates schedules. */
export const schedules: fc.Arbitrary<Schedule> = fc.oneof(
  { weight: 7, arbitrary: schedulesOfOne },
  { weight: 1, arbitrary: schedulesOfSeveral },
);
