import { settled } from "../fakes/virtual-clock.ts";
import type { Schedule } from "./schedule.ts";
import type { Simulation } from "./simulation.ts";
import { stepActions } from "./step-actions.ts";
import { type Step, wordsOf } from "./steps.ts";

const act = (world: Simulation, step: Step): Promise<void> | void =>
  (stepActions[step.do] as (world: Simulation, step: Step) => Promise<void> | void)(world, step);

/** Performs the steps of a schedule in order. Calls `afterEach` once all consequences of a step have happened. */
export const runSteps = async (world: Simulation, { steps }: Schedule, afterEach: () => void): Promise<void> => {
  for (const [index, step] of steps.entries()) {
    if (world.life().isOver()) await world.reboot(0);
    world.sequence.note("engine,host", `step ${index + 1}, ${wordsOf(step)}`);
    await act(world, step);
    await settled();
    if (!world.life().isOver()) afterEach();
  }
};
