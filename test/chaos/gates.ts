import type { CommandEnd, RunCommand } from "../../src/services/platform/shell-command.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";

/** How the command of a gate ends, and after how many milliseconds. */
export interface GateEnding {
  how: "passes" | "fails" | "cannotRun";
  after: number;
}

const ENDS: Record<GateEnding["how"], CommandEnd> = {
  passes: { end: "exited", exit: 0, output: "" },
  fails: { end: "exited", exit: 1, output: "2 tests failed" },
  cannotRun: { end: "notRun", output: "no such folder" },
};

/** How often an agent goes on whose answer failed. */
export const GATE_TRIES = 1;

/** The commands of gates in a schedule. */
export interface GateCommands {
  run: RunCommand;
  /** From now on every command passes at once. */
  pass(): void;
}

/**
 * Creates commands that end one after the other as the list says, and then from its beginning again.
 * @param clock stands still in a process that is dead or stopped
 */
export const createGateCommands = (
  endings: readonly GateEnding[],
  clock: () => Pick<VirtualClock, "after">,
): GateCommands => {
  let count = 0;
  let isEasy = endings.length === 0;
  return {
    run: ({ signal }) =>
      new Promise((resolve) => {
        const { how = "passes", after = 0 } = isEasy ? {} : (endings[count++ % endings.length] ?? {});
        signal.addEventListener("abort", () => resolve({ end: "timedOut", output: "" }), { once: true });
        clock().after(after, () => resolve(ENDS[how]));
      }),
    pass: () => {
      isEasy = true;
    },
  };
};
