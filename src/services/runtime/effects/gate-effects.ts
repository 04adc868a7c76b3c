import type { GateEnd } from "../../../machines/task/events.ts";
import type { Gate } from "../../../task.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import { gatePrompt } from "../../text/child-prompts.ts";
import { type EffectHandlers, supervisionFailed } from "./effect-handler.ts";

/** What the gates of tasks are run with. */
export interface GateEffectDeps {
  clock: Clock;
  ids: Ids;
  gates: {
    /** Runs the gate of a task in that directory. Undefined where it was stopped before it ended. */
    run(taskId: string, gate: Gate, directory: string): Promise<GateEnd | undefined>;
    /** Ends it, if it runs. */
    stop(taskId: string): void;
  };
}

/** Creates the handlers of the effects that run a gate's command, and end it. */
export const createGateEffects = ({ clock, ids, gates }: GateEffectDeps): EffectHandlers<"runGate" | "stopGate"> => ({
  runGate: {
    taskId: ({ sessionID }) => sessionID,
    perform: async ({ sessionID: id, gateRun, directory, gate }) => {
      const end = await gates.run(id, gate, directory);
      if (!end) return undefined;
      const [partID = ""] = ids.parts(1);
      const followUp = { messageID: ids.message(), partID, prompt: gatePrompt(gate, end) };
      return { type: "TASK", id, event: { type: "GATE_ENDED", at: clock.now(), gateRun, end, ...followUp } };
    },
    onFault: ({ sessionID: id }, at, reason) => ({ type: "TASK", id, event: supervisionFailed(at, reason) }),
  },
  stopGate: {
    taskId: ({ sessionID }) => sessionID,
    perform: ({ sessionID }) => void gates.stop(sessionID),
    onFault: () => undefined,
  },
});
