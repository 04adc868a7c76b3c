import type { Clock } from "../platform/clock.ts";
import { createListeners } from "../platform/listeners.ts";
import type { Inspect } from "../runtime/actor-system.ts";
import type { InspectorMessage, LiveSource } from "./protocol.ts";
import { createStepLog } from "./step-log.ts";
import { observe } from "./xstate-observer.ts";

/** The recording of one directory's actors. */
export interface Recording {
  /** To be given to the supervisor's actor system, which reports to it everything that its actors do. */
  inspect: Inspect;
  /** Ends the recording: the directory is closed. */
  end(): void;
}

/** Records the steps of the actors of all directories for which that is switched on. */
export interface Recorder extends LiveSource {
  since(number: number): InspectorMessage;
  /** Starts to record the actors of a directory. */
  record(directory: string): Recording;
}

/** Creates a recorder. It keeps nothing while no directory is recorded. */
export const createRecorder = (clock: Clock): Recorder => {
  const steps = createStepLog();
  const recordings = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => recordings.size > 0,
    since: (number) => ({ upTo: steps.newest(), ...steps.since(number) }),
    onChange: listeners.add,
    record: (directory) => {
      const onInspectionEvent = observe(directory, steps, clock.now);
      const recording: Recording = {
        inspect: (event) => {
          onInspectionEvent(event);
          listeners.notify();
        },
        end: () => {
          recordings.delete(recording);
          if (recordings.size === 0) steps.clear();
          listeners.notify();
        },
      };
      recordings.add(recording);
      return recording;
    },
  };
};
