import type { Run, Step } from "./account.ts";
import { at, type Breach, type JournalPromise } from "./promise.ts";

/** Follows the instructions of a run: those that were given, and that the host is not known to have, oldest first. */
export interface Instructions {
  pending(): readonly string[];
  /** Returns what is wrong with a step of the run. */
  take(step: Step): Breach[];
}

/** Follows the instructions of a run from its beginning on. */
export const followInstructions = ({ stopping, ending }: Run): Instructions => {
  let pending: string[] = [];
  return {
    pending: () => pending,
    take: (step) => {
      const { type, messageID = "" } = step.event;
      if (type === "STEER") pending = [...pending, messageID];
      const isOutOfOrder = type.startsWith("STEERING_") && messageID !== pending[0];
      const place = pending.indexOf(messageID);
      if (type === "STEERING_STORED") pending = pending.filter((id) => id !== messageID);
      if (step === stopping || step === ending) pending = [];
      if (!isOutOfOrder) return [];
      return [
        at(
          step,
          place < 0
            ? `is about ${messageID}, which is no instruction that waits`
            : `is about ${messageID}, and ${pending[0]} was given before it`,
        ),
      ];
    },
  };
};

const instructionsInOrder: JournalPromise = {
  name: "instructions-in-order",
  says: "Instructions reach the child once each, in the order in which they were given.",
  breaches: ({ runs }) =>
    runs.flatMap((run) => {
      const instructions = followInstructions(run);
      return run.steps.flatMap(instructions.take);
    }),
};

export const INSTRUCTIONS: readonly JournalPromise[] = [instructionsInOrder];
