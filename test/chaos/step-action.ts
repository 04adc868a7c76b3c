import type { Simulation } from "./simulation.ts";
import type { Step } from "./steps.ts";

/** The action of each kind of step. */
export type StepActions = {
  [Do in Step["do"]]: (world: Simulation, step: Extract<Step, { do: Do }>) => Promise<void> | void;
};
