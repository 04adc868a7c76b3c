import { settled } from "../fakes/virtual-clock.ts";
import { busy } from "./choosing.ts";
import type { StepActions } from "./step-action.ts";

/** What happens to the connection with the host, to the process, and to time. */
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
} satisfies Partial<StepActions>;
