import { settled } from "../fakes/virtual-clock.ts";
import { acts } from "./acts.ts";
import { type Schedule, type Step, wordsOf } from "./schedule.ts";
import type { World } from "./world.ts";

const act = (world: World, step: Step): Promise<void> | void =>
  (acts[step.do] as (world: World, step: Step) => Promise<void> | void)(world, step);

/** Performs the steps of a schedule in order. Calls `afterEach` once all consequences of a step have happened. */
export const play = async (world: World, { steps }: Schedule, afterEach: () => void): Promise<void> => {
  for (const [index, step] of steps.entries()) {
    if (world.life().isOver()) await world.reboot(0);
    world.sequence.note("engine,host", `step ${index + 1}, ${wordsOf(step)}`);
    await act(world, step);
    await settled();
    if (!world.life().isOver()) afterEach();
  }
};
