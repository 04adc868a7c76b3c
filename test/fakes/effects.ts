import { createEffects } from "../../src/services/engine/effects/effects.ts";
import type { Effects } from "../../src/services/runtime/effects.ts";
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
