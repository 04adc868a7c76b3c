import fc from "fast-check";
import { type Limits, limits } from "./limits.ts";
import { scene } from "./scenes.ts";
import { type Step, step } from "./steps.ts";

/** The steps that happen to an engine, its host and its store, and the settings they start with. */
export interface Schedule {
  store: "memory" | "file";
  recovery: "continue" | "fail";
  /** How many tasks may be at work at once. */
  slots: number;
  /** At how many calls to the host and the store each process dies. Default: none does. */
  lifetime?: number | undefined;
  /** What else the options allow. Default: the usual limits. */
  limits?: Limits | undefined;
  steps: Step[];
}

/** A scene takes longer than a step: of thirty parts of a schedule, about one is one. */
const stepOrScene = fc.oneof({ weight: 29, arbitrary: step.map((only) => [only]) }, { weight: 1, arbitrary: scene });

/** Generates schedules, most of them for the fast store. */
export const schedules: fc.Arbitrary<Schedule> = fc.record({
  store: fc.oneof(
    { weight: 19, arbitrary: fc.constant("memory" as const) },
    { weight: 1, arbitrary: fc.constant("file" as const) },
  ),
  recovery: fc.constantFrom("continue", "continue", "continue", "fail"),
  slots: fc.constantFrom(10, 2, 1),
  lifetime: fc.constantFrom(undefined, undefined, undefined, 15, 30, 60),
  limits: fc.option(limits, { nil: undefined, freq: 2 }),
  steps: fc.array(stepOrScene, { minLength: 1, maxLength: 20, size: "max" }).map((parts) => parts.flat()),
});
