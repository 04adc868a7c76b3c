import { settled } from "../fakes/virtual-clock.ts";
import { agentSteps } from "./agent-steps.ts";
import { hostSteps } from "./host-steps.ts";
import { pauseSteps } from "./pause-steps.ts";
import { peopleSteps } from "./people-steps.ts";
import { processSteps } from "./process-steps.ts";
import type { Schedule } from "./schedule.ts";
import type { Simulation, StepActions } from "./simulation.ts";
import { type Step, wordsOf } from "./steps.ts";

/** The action of each kind of step. */
const stepActions: StepActions = { ...agentSteps, ...peopleSteps, ...pauseSteps, ...hostSteps, ...processSteps };

/** What still happens to a process that is stopped. */
const HAPPENS_TO_STOPPED: ReadonlySet<Step["do"]> = new Set([
  ...(["goTo", "wake", "crash", "time", "garble", "strike"] as const),
  ...(["lockFile", "fillDisk", "checkpoint", "setClock"] as const),
]);

/** What removes tasks: while the file cannot be written, the process that supervises one of them does not hear of it. */
const REMOVES: ReadonlySet<Step["do"]> = new Set(["clear", "clearAll", "deleteChild", "deleteParent", "meddle"]);

const act = (world: Simulation, step: Step): Promise<void> | void =>
  (stepActions[step.do] as (world: Simulation, step: Step) => Promise<void> | void)(world, step);

/**
 * Performs the steps of a schedule in order, each in the process that the last `goTo` names, at first in the first one.
 * Calls `afterEach` once all consequences of a step have happened.
 */
export const runSteps = async (
  worlds: readonly Simulation[],
  { steps }: Schedule,
  afterEach: () => void,
): Promise<void> => {
  let world = worlds[0];
  for (const [index, step] of steps.entries()) {
    if (step.do === "goTo") world = worlds[step.process % worlds.length];
    if (!world) return;
    if (world.life().isOver()) await world.reboot(0);
    if (world.isFrozen() && !HAPPENS_TO_STOPPED.has(step.do)) continue;
    if (REMOVES.has(step.do) && world.storage.trouble?.isUnderWay()) continue;
    world.sequence.note("engine,host", `step ${index + 1}, ${wordsOf(step)}`);
    await act(world, step);
    await settled();
    afterEach();
  }
};
