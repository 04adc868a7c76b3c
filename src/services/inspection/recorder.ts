import type { Clock } from "../platform/clock.ts";
import { createListeners, type LiveSource } from "../platform/listeners.ts";
import type { Inspect } from "../runtime/actor-system.ts";
import type { InspectorMessage } from "./protocol.ts";
import { createStepLog } from "./step-log.ts";
import { observe } from "./xstate-observer.ts";

/** A directory whose actors are watched. */
export interface Recording {
  /** For the supervisor: it is told of everything that its actors do. */
  inspect: Inspect;
  /** The directory is closed. */
  end(): void;
}

/** The actors of all directories that this process has open and that are to be watched, and their newest steps. */
export interface Recorder extends LiveSource {
  since(number: number): InspectorMessage;
  watch(directory: string): Recording;
}

/** Keeps nothing while nothing is watched. */
export const createRecorder = (clock: Clock): Recorder => {
  const steps = createStepLog();
  const watches = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => watches.size > 0,
    since: (number) => ({ upTo: steps.newest(), ...steps.since(number) }),
    onChange: listeners.add,
    watch: (directory) => {
      const take = observe(directory, steps, clock.now);
      const watch: Recording = {
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
