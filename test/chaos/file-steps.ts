import { hasEnded } from "../../src/task.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import type { StepActions } from "./step-action.ts";

/** What happens to a file that several processes have open, and to their clocks. */
export const fileSteps = {
  lockFile: ({ storage }, { after, ms }) => storage.trouble?.lock(after, ms),
  fillDisk: ({ storage }, { ms }) => storage.trouble?.fill(ms),
  checkpoint: ({ storage }) => storage.trouble?.checkpoint(),
  setClock: (world, { ms }) => {
    if (ms < 0 && wholeTasks(world.stage.store).some((task) => !hasEnded(task))) {
      world.note("the clock is set back while a task is at work");
    }
    if (ms < 0 && (world.storage.trouble?.prompts() ?? 0) > 0) {
      world.note("the clock is set back while a notice is on its way");
    }
    world.sequence.note("engine,host", `the clock is set by ${ms} ms`);
    world.machineClock.set(ms);
  },
} satisfies Partial<StepActions>;
