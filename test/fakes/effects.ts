import { createIds } from "../../src/services/platform/ids.ts";
import { createEventBus } from "../../src/services/platform/listeners.ts";
import type { Charts } from "../../src/services/runtime/effects/effect-handler.ts";
import { createEffects, type Effects } from "../../src/services/runtime/effects/effects.ts";
import type { EngineEvents } from "../../src/services/runtime/engine-events.ts";
import { createFakeHost } from "./fake-host.ts";
import { receipt } from "./receipt.ts";
import { createVirtualClock } from "./virtual-clock.ts";

const log = { info: () => undefined, error: () => undefined };

/** The real table of effects, but for what is done: `perform` answers all effects but those that concern an actor. */
export const createFakeEffects = (perform: Effects["perform"]): Effects => {
  const clock = createVirtualClock();
  const host = createFakeHost(clock);
  const effects = createEffects({
    host,
    clock,
    log,
    bus: createEventBus<EngineEvents>(log),
    ids: createIds(clock),
    gates: { run: async () => undefined, stop: () => undefined },
    receipts: { ready: async () => undefined, ifKnown: ({ run }) => receipt({ run }), write: async () => receipt() },
    readAnswer: async (_, answer) => ({ json: answer }),
    observedAnswers: { answerOf: () => undefined },
    isWorkBelow: () => false,
    obstacleTo: () => undefined,
    untilNothingIsTakenBack: () => undefined,
    untilNoticeReady: () => undefined,
    reads: host,
    takeSlot: () => true,
    remoteRuns: undefined,
    endedBatches: () => [],
    roomIn: async () => 0,
    composeNotice: () => ({ messageID: "msg_n", parts: [], runs: [], toasts: [] }),
    expectInstruction: () => undefined,
    reportSetAside: async () => undefined,
    reportUndelivered: async () => undefined,
  });
  return {
    ...effects,
    perform: (effect, charts) =>
      effect.type === "actorFailed" ? effects.perform(effect, charts) : perform(effect, charts),
  };
};

/** The charts of a process in which no task lives. */
export const NO_TASKS: Charts = {
  isStillOurs: () => false,
  confirmOurs: () => false,
  isLost: () => false,
  awaitsTasks: () => false,
  awaitsRuns: () => false,
  hasRunningTasks: () => false,
  runBeingSent: () => undefined,
  instructionBeingSent: () => undefined,
  receiptOf: () => undefined,
  restartActor: () => undefined,
};
