import { hasEnded } from "../../src/task.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { busy } from "./choosing.ts";
import type { StepActions } from "./simulation.ts";

/** What happens to the connection with the host, to the process, to time, and to a file that several processes have open. */
export const processSteps = {
  garble: ({ wire }, { faults }) => wire.expect(faults),
  strike: ({ calls }, { do: _, times, ...fault }) => {
    for (let time = 0; time < times; time += 1) calls.expect(fault);
  },
  time: ({ clock }, { ms }) => clock.advance(ms),
  crash: (world, { down }) => world.reboot(down),
  dieSoon: (world, { points }) => world.life().dieAfter(points),
  close: async (world, { aborts }) => {
    world.storage.leaves?.(world.owner(), world.machineClock.now());
    world.agents.part();
    for (const { sessionID } of aborts ? world.agents.open() : []) world.agents.abort(sessionID);
    for (const sessionID of aborts ? busy(world) : []) world.host.abortByPerson(sessionID);
    try {
      world.stage.engine.stop();
    } catch (error) {
      if (!world.life().isOver()) throw error;
    }
    await settled();
    await world.reboot(0);
  },
  quit: (world, { lingers }) => world.quit(lingers),
  goTo: () => undefined,
  freeze: (world) => world.freeze(),
  wake: (world) => world.wake(),
  pause: async (world, { ms }) => {
    world.storage.leaves?.(world.owner(), world.machineClock.now());
    world.life().pause();
    await world.clock.advance(ms);
    world.wasPaused(ms);
  },
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
