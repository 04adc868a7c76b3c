import type { Clock } from "../platform/clock.ts";
import type { Inspect } from "../runtime/actor-system.ts";
import { createListeners, type Watched } from "./live-source.ts";
import type { Showing } from "./protocol.ts";
import { createSteps } from "./step-log.ts";
import { observe } from "./xstate-observer.ts";

/** A directory whose actors are watched. */
export interface Watch {
  /** For the supervisor: it is told of everything that its actors do. */
  inspect: Inspect;
  /** The directory is closed. */
  end(): void;
}

/** The actors of all directories that this process has open and that are to be watched, and their newest steps. */
export interface Inspection extends Watched {
  since(number: number): Showing;
  watch(directory: string): Watch;
}

/** Keeps nothing while nothing is watched. */
export const createInspection = (clock: Clock): Inspection => {
  const steps = createSteps();
  const watches = new Set<Watch>();
  const listeners = createListeners();
  return {
    isOn: () => watches.size > 0,
    since: (number) => ({ upTo: steps.newest(), ...steps.since(number) }),
    onChange: listeners.add,
    watch: (directory) => {
      const take = observe(directory, steps, clock.now);
      const watch: Watch = {
        inspect: (told) => {
          take(told);
          listeners.tell();
        },
        end: () => {
          watches.delete(watch);
          if (watches.size === 0) steps.clear();
          listeners.tell();
        },
      };
      watches.add(watch);
      return watch;
    },
  };
};
