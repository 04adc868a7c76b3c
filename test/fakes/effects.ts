import { createIds } from "../../src/services/platform/ids.ts";
import { createEventBus } from "../../src/services/platform/listeners.ts";
import type { Charts } from "../../src/services/runtime/effects/effect-handler.ts";
import { createEffects, type EffectDeps, type Effects } from "../../src/services/runtime/effects/effects.ts";
import type { EngineEvents } from "../../src/services/runtime/engine-events.ts";
import { createFakeHost } from "./fake-host.ts";
import { receipt } from "./receipt.ts";
import { createVirtualClock } from "./virtual-clock.ts";

const log = { info: () => undefined, error: () => undefined };

/** The real table of effects, on a host of its own or on what is given. */
export const createTestEffects = (given: Partial<EffectDeps> = {}): Effects => {
  const { clock = createVirtualClock() } = given;
  const host = createFakeHost(createVirtualClock());
  return createEffects({
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
    ...given,
  });
};

/** The real table of effects, but for what is done: `perform` answers all effects. */
export const createFakeEffects = (perform: Effects["perform"]): Effects => ({ ...createTestEffects(), perform });

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
};
