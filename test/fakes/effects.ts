import { createEffects } from "../../src/services/engine/effects/effects.ts";
import type { Charts, Effects } from "../../src/services/runtime/effects.ts";
import { createTestContext } from "./context.ts";
import { receipt } from "./receipt.ts";

/**
 * The real table of effects, but for what is done: `perform` answers all effects. Each run gets a slot at once, and a receipt
 * when it ends.
 */
export const createFakeEffects = (perform: Effects["perform"]): Effects => {
  const context = createTestContext();
  const effects = createEffects({
    ...context,
    slots: { ...context.slots, take: () => true },
    receipts: { ...context.receipts, ifKnown: ({ run }) => receipt({ run }) },
  });
  return { ...effects, perform };
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
};
